// What the agent expects of every action at one step: a bar for each flip and, apart from them, one for the stop.
import { EDGE, niceTicks, tickText } from "./chart.js";
import { draw, make } from "./element.js";
import { bitsText, signed } from "./story.js";

const HEIGHT = 176;
const TOP = 20; // room for the mark above the highest bar
const STOP = 52; // width of the stop's column
const PAIR = 46; // and of that of the best pair, where the agent may flip two bits at once
const GAP = 14;

export class ActionChart {
  #walk = null;
  #entry = null;

  constructor() {
    this.svg = draw("svg", { class: "actions", role: "img" });
    this.chosen = make("p", { class: "chosen" });
    this.numbers = make("ul", { class: "numbers" });
    const details = make("details", {}, make("summary", {}, "The same as numbers"), this.numbers);
    this.note = make("p", { class: "note" });
    const caption = make("figcaption", {}, "What it expects of each action at this step (Q)");
    const parts = [caption, this.chosen, this.svg, keys(), details, this.note];
    this.element = make("figure", { class: "charted at-step" }, ...parts);
    new ResizeObserver(() => this.#paint()).observe(this.element);
  }

  show(walk) {
    this.#walk = walk;
    this.#entry = null;
    this.note.replaceChildren(make("strong", {}, "While learning, "), earned(walk));
    const known = walk.steps.flatMap((step) => step.q).filter((value) => value !== null);
    this.ticks = niceTicks(Math.min(0, ...known), Math.max(0, ...known)); // the same at every step
  }

  at(entry) {
    this.#entry = entry;
    const columns = this.#columns();
    const words = choice(columns);
    this.chosen.textContent = words;
    this.svg.setAttribute("aria-label", `Q of each flip and of the stop. ${words}`);
    this.numbers.replaceChildren(...columns.map((column) => {
      const [name, value] = [columnName(column), make("b", {}, signed(column.value))];
      return make("li", { class: column.chosen ? "taken" : null }, name, value);
    }));
    this.#paint();
  }

  // One for each single flip, the best pair if there are pairs, and the stop.
  #columns() {
    const { actions, n_bits: bits } = this.#walk;
    const { q, action } = this.#entry;
    const column = (number) => ({ bits: actions[number], value: q[number], chosen: number === action });
    const pairs = actions.flatMap((flips, number) => (flips.length === 2 ? [number] : []));
    const best = pairs.reduce((one, other) => (q[other] > q[one] ? other : one), pairs[0]);
    const numbers = [...Array(bits).keys(), ...(pairs.length ? [best] : []), actions.length - 1];
    return numbers.map(column);
  }

  #paint() {
    const width = this.element.clientWidth;
    if (!width || !this.#entry) return;
    const { ticks } = this;
    const tall = HEIGHT - TOP - EDGE.bottom;
    const y = (value) => TOP + (tall * (ticks.at(-1) - value)) / (ticks.at(-1) - ticks[0]);
    const columns = placed(this.#columns(), width);
    const stop = columns.at(-1);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.replaceChildren(
      ...ticks.flatMap((tick) => rule(tick, y(tick), width)),
      draw("line", { class: "apart", x1: stop.from - GAP / 2, x2: stop.from - GAP / 2, y1: 4, y2: HEIGHT }),
      ...columns.flatMap((column) => bar(column, y)),
      ...(stop.value === null ? [] : [level(stop, y(stop.value))]),
      draw("text", { x: EDGE.left - 8, y: HEIGHT - 7, "text-anchor": "end" }, "bit"),
      ...labels(columns),
    );
  }
}

function placed(columns, width) {
  const paired = columns.at(-2).bits.length === 2;
  const inner = width - EDGE.left - EDGE.right - STOP - GAP - (paired ? PAIR + GAP : 0);
  const singles = columns.filter((column) => column.bits.length === 1).length;
  let from = EDGE.left;
  return columns.map((column) => {
    const wide = { 0: STOP, 1: inner / singles, 2: PAIR }[column.bits.length];
    if (column.bits.length !== 1) from += GAP;
    const at = { ...column, from, wide, middle: from + wide / 2, bar: Math.min(26, wide * 0.74) };
    from += wide;
    return at;
  });
}

function rule(tick, y, width) {
  return [
    draw("line", { class: tick === 0 ? "axis" : "rule", x1: EDGE.left, x2: width - EDGE.right, y1: y, y2: y }),
    draw("text", { x: EDGE.left - 8, y: y + 4, "text-anchor": "end" }, tickText(tick)),
  ];
}

function bar(column, y) {
  if (column.value === null) return [];
  const { middle, bar: wide, value, chosen } = column;
  const [top, bottom] = [y(Math.max(value, 0)), y(Math.min(value, 0))];
  const kind = ["worth", column.bits.length ? "flip" : "stop", chosen ? "taken" : ""].join(" ").trim();
  const box = { class: kind, x: middle - wide / 2, y: top, width: wide, height: Math.max(1, bottom - top) };
  const said = draw("title", {}, `${columnName(column)}: ${signed(value)}`);
  const mark = chosen ? [draw("path", { class: "mark-taken", d: `M${middle} ${top - 4}l-6 -9h12z` })] : [];
  return [draw("rect", { ...box, rx: Math.min(2, wide / 4) }, said), ...mark];
}

// The stop's value across the flips: a flip that ends above it is worth more than stopping.
const level = (stop, y) =>
  draw("line", { class: "level", x1: EDGE.left, x2: stop.middle - stop.bar / 2, y1: y, y2: y });

// As many bit numbers as fit; the chosen one always, and none that touches it.
function labels(columns) {
  const singles = columns.filter((column) => column.bits.length === 1);
  const room = 9 * String(singles.length).length;
  const every = [1, 2, 4, 8, 16, 32, 64].find((step) => step * singles[0].wide >= room) ?? 128;
  const taken = singles.findIndex((column) => column.chosen);
  const clear = (place) => taken < 0 || place === taken || Math.abs(place - taken) >= every;
  const named = columns.filter((column, place) =>
    column.bits.length !== 1 || place === taken || (place % every === 0 && clear(place)));
  return named.map((column) => {
    const text = column.bits.length ? column.bits.join("+") : "stop";
    const place = { x: column.middle, y: HEIGHT - 7, "text-anchor": "middle" };
    return draw("text", { ...place, class: column.chosen ? "taken" : null }, text);
  });
}

function keys() {
  const sign = draw("path", { class: "mark-taken", d: "M6 9 0 0h12z" });
  const mark = draw("svg", { viewBox: "0 0 12 9", "aria-hidden": "true" }, sign);
  const level = make("li", { class: "stop-key" }, make("i"), "worth as much as stopping");
  return make("ul", { class: "legend keys" }, make("li", {}, mark, "chosen"), level);
}

const columnName = ({ bits }) => (bits.length ? bitsText(bits) : "stop");

function choice(columns) {
  const taken = columns.find((column) => column.chosen);
  if (!taken) return "Nothing is asked here any more: the step limit ended the walk.";
  const stop = columns.at(-1);
  if (taken === stop) {
    const best = columns.slice(0, -1).reduce((one, other) => (other.value > one.value ? other : one));
    return `Chosen: stop, ${signed(stop.value)}. Best flip: ${bitsText(best.bits)}, ${signed(best.value)}.`;
  }
  return `Chosen: flip ${bitsText(taken.bits)}, ${signed(taken.value)}. Stop: ${signed(stop.value)}.`;
}

function earned({ stop_reward: reward, gamma }) {
  const later = `Q is the sum expected from here on; what comes a step later counts ${gamma} times as much.`;
  if (!reward) {
    return `a flip earned what it added to how well the code states the image’s class; a stop earned nothing. ${later}`;
  }
  const { sigma, eta } = reward;
  const whole = Math.floor(eta); // distances are whole numbers of bits
  const near = whole ? `within ${whole} ${whole === 1 ? "bit" : "bits"} of` : "on";
  return "a flip earned how many bits nearer it brought the code to the codeword of the image’s class, compared with "
    + `the other codewords on average; a stop earned +${sigma} ${near} that codeword and −${sigma} elsewhere. ${later}`;
}
