// A walk in words and numbers: what happened at each step, and why it ended.

// One entry a step: { bits, flipped, nearest, distances, q, action, history, best, bestBits, stop, text }.
export function tell(walk) {
  const entries = walk.steps.map((step, number) => {
    const before = number ? walk.steps[number - 1].bits : step.bits;
    const flipped = [...step.bits].flatMap((bit, place) => (bit === before[place] ? [] : [place]));
    const nearest = step.distances.indexOf(Math.min(...step.distances));
    return { ...step, flipped, nearest, ...values(walk.actions, step.q) };
  });
  const flips = (number) => (number < entries.length ? entries[number].flipped : []);
  return entries.map((entry, number) => ({
    ...entry,
    text: number < entries.length - 1
      ? [came(entry, entries[number - 1], number), `${where(walk, entry)} ${ahead(entry, flips(number + 1))}`]
      : [came(entry, entries[number - 1], number), ended(walk, entries)],
  }));
}

// Q of the best flip and of the stop; the stop is the last action.
function values(actions, q) {
  const known = (q ?? []).slice(0, -1).flatMap((value, action) => (value === null ? [] : [[value, action]]));
  const [best, action] = known.reduce((one, other) => (other[0] > one[0] ? other : one), [-Infinity, null]);
  const stop = q?.at(-1) ?? null;
  return action === null ? { best: null, bestBits: [], stop } : { best, bestBits: actions[action], stop };
}

// Why the walk is over, and where it is.
function ended(walk, entries) {
  const entry = entries.at(-1);
  if (walk.stopped) {
    const flips = entries.length - 1;
    const after = flips ? `by itself after ${flips} ${flips === 1 ? "step" : "steps"}` : "at once";
    const best = `the best flip (${bitsText(entry.bestBits)}, ${signed(entry.best)})`;
    return `Stopped ${after} because Q(stop) = ${signed(entry.stop)} was above ${best}, ${place(walk, entry)}.`;
  }
  const asked = entries.filter((one) => one.stop !== null);
  const highest = Math.max(...asked.map((one) => one.stop));
  const [last, walked] = [asked.at(-1), `Walked to the step limit (${walk.max_steps}) without stopping`];
  const why = highest < 0
    ? `every stop looked like a loss (Q(stop) = ${signed(highest)} at best)`
    : `a flip always looked better (at the last one ${signed(last.best)}, Q(stop) = ${signed(last.stop)})`;
  return `${walked}: ${why}. It ends ${place(walk, entry)}.`;
}

const place = (walk, { distances, nearest }) =>
  `at distance ${distances[nearest]} from the codeword of “${walk.classes[nearest]}”`;

function came(entry, before, number) {
  if (!number) return "Start: a code that depends on the image.";
  const [flipped, bit] = [entry.flipped, (one) => `${before.bits[one]} → ${entry.bits[one]}`];
  return flipped.length
    ? `Step ${number}: flips ${flipped.map((one) => `bit ${one} (${bit(one)})`).join(" and ")}.`
    : `Step ${number}: no bit changes.`;
}

function where(walk, entry) {
  const distance = entry.distances[entry.nearest];
  const name = walk.classes[entry.nearest];
  if (name === undefined) return "";
  if (distance === 0) return `The code is the codeword of “${name}”.`;
  return `The nearest codeword is “${name}”, ${distance} ${distance === 1 ? "bit" : "bits"} away.`;
}

function ahead(entry, next) {
  if (entry.best === null) return "";
  const bits = bitsText(next.length ? next : entry.bestBits);
  return `Next, flipping ${bits} is worth ${signed(entry.best)}, stopping ${signed(entry.stop)}.`;
}

export const bitsText = (bits) => bits.map((one) => `bit ${one}`).join(" and ");

export function signed(value) {
  if (value === null) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return `${value < 0 ? "−" : "+"}${size < 0.0995 ? size.toPrecision(2) : size.toFixed(2)}`;
}
