// A walk in words and numbers: what happened at each step, and why it ended.

// One entry a step: { bits, flipped, nearest, distances, best, bestBits, stop, text }.
export function tell(walk) {
  const entries = walk.steps.map((step, number) => {
    const before = number ? walk.steps[number - 1].bits : step.bits;
    const flipped = [...step.bits].flatMap((bit, place) => (bit === before[place] ? [] : [place]));
    const entry = { bits: step.bits, distances: step.distances, flipped, ...values(walk.actions, step.q) };
    return { ...entry, nearest: entry.distances.indexOf(Math.min(...entry.distances)) };
  });
  const flips = (number) => (number < entries.length ? entries[number].flipped : []);
  return entries.map((entry, number) => ({
    ...entry,
    text: sentence(walk, entry, entries[number - 1], number, flips(number + 1)),
  }));
}

// Q of the best flip and of the stop; the stop is the last action.
function values(actions, q) {
  const known = (q ?? []).slice(0, -1).flatMap((value, action) => (value === null ? [] : [[value, action]]));
  const [best, action] = known.reduce((one, other) => (other[0] > one[0] ? other : one), [-Infinity, null]);
  const stop = q?.at(-1) ?? null;
  return action === null ? { best: null, bestBits: [], stop } : { best, bestBits: actions[action], stop };
}

function sentence(walk, entry, before, number, next) {
  const [here, way] = [where(walk, entry), came(entry, before, number)];
  if (number < walk.steps.length - 1) return [way, `${here} ${ahead(entry, next)}`];
  if (!walk.stopped) return [way, `${here} The step limit ends the walk here, before the agent chose to stop.`];
  const worth = entry.best === null ? "" : ` (best flip ${signed(entry.best)}, stop ${signed(entry.stop)})`;
  return [way, `${here} Stops: no flip is worth more than stopping${worth}.`];
}

function came(entry, before, number) {
  if (!number) return "Start: a code that depends on the image.";
  const [place, bit] = [entry.flipped, (one) => `${before.bits[one]} → ${entry.bits[one]}`];
  return place.length
    ? `Step ${number}: flips ${place.map((one) => `bit ${one} (${bit(one)})`).join(" and ")}.`
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
  const bits = (next.length ? next : entry.bestBits).map((one) => `bit ${one}`).join(" and ");
  return `Next, flipping ${bits} is worth ${signed(entry.best)}, stopping ${signed(entry.stop)}.`;
}

function signed(value) {
  if (value === null) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return `${value < 0 ? "−" : "+"}${size < 0.0995 ? size.toPrecision(2) : size.toFixed(2)}`;
}
