// What the agent sees at a step beside the image and the code: its last flips, those that were undone joined by arcs.
import { draw, make } from "./element.js";

const ARC = 16; // height of the arcs' strip

export class History {
  #walk = null;
  #length = 0;

  constructor() {
    this.caption = make("figcaption");
    this.arcs = draw("svg", { class: "arcs", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.places = make("ol", { class: "past" });
    this.undone = make("p", { class: "undone-words" });
    const ends = make("p", { class: "ends", "aria-hidden": "true" });
    ends.append(make("span", {}, "newest"), make("span", {}, "oldest"));
    this.strip = make("div", { class: "past-strip" }, this.arcs, this.places, ends, this.undone);
    this.note = make("p", { class: "note" });
    this.element = make("figure", { class: "history" }, this.caption, this.strip, this.note);
  }

  show(walk) {
    this.#walk = walk;
    this.#length = walk.history_length;
    const sees = this.#length > 0;
    this.caption.hidden = this.strip.hidden = !sees;
    const name = `the last ${this.#length} flips, newest first`;
    this.caption.replaceChildren("Its history h", make("sub", {}, "t"), `: ${name}`);
    this.places.setAttribute("aria-label", `Its history: ${name}`);
    this.places.style.setProperty("--places", this.#length);
    this.arcs.setAttribute("viewBox", `0 0 ${this.#length} ${ARC}`);
    const rest = "no label and no codeword.";
    const what = sees ? `the image’s feature, the code and this history, but ${rest}`
      : `the image’s feature and the code. It sees no history of its flips, ${rest}`;
    this.note.replaceChildren(make("strong", {}, "The agent sees "), what);
  }

  at(step, entry) {
    if (!this.#length) return;
    const back = undoings(this.#walk.steps, step);
    const fate = (bit, place) => ({ bit, ...back.get(`${step - place} ${bit}`) });
    const seen = entry.history.map((bits, place) => bits.map((bit) => fate(bit, place)));
    const empty = this.#length - seen.length;
    this.places.replaceChildren(
      ...seen.map((bits, place) => flip(bits, place, step)),
      ...Array.from({ length: empty }, () => make("li", { class: "none", "aria-label": "none yet" })),
    );
    const pairs = seen.flatMap((bits, place) => bits.flatMap(({ undoes }) => (undoes ? [[place, step - undoes]] : [])));
    const shown = pairs.filter(([, other]) => other < seen.length);
    this.arcs.replaceChildren(...shown.map(arc));
    const undone = new Set(seen.flat().filter(({ undoes }) => undoes).map(({ bit }) => bit));
    this.undone.textContent = words([...undone].sort((one, other) => one - other));
  }
}

// For "flip number, bit": { undoes } the flip that it takes back, or { undoneBy } the one that took it back.
function undoings(steps, last) {
  const [open, found] = [new Map(), new Map()];
  for (let number = 1; number <= last; number++) {
    for (const bit of steps[number].flipped) {
      const before = open.get(bit);
      if (before === undefined) open.set(bit, number);
      else {
        found.set(`${number} ${bit}`, { undoes: before });
        found.set(`${before} ${bit}`, { undoneBy: number });
        open.delete(bit);
      }
    }
  }
  return found;
}

function flip(bits, place, step) {
  const said = bits.map(({ bit, undoes, undoneBy }) => {
    const more = undoes ? `, flipped back after step ${undoes}` : undoneBy ? `, undone at step ${undoneBy}` : "";
    return `bit ${bit}${more}`;
  });
  const text = `Step ${step - place}: ${said.join("; ")}`;
  const cells = bits.map(({ bit, undoes, undoneBy }) => {
    const kind = undoes ? "back" : undoneBy ? "undone" : null;
    return make("span", { class: kind, "data-bit": bit }, String(bit));
  });
  const kind = bits.every(({ undoes, undoneBy }) => undoes || undoneBy) ? "void" : null;
  return make("li", { class: kind, title: text, "aria-label": text }, ...cells);
}

function arc([newer, older]) {
  const [from, to] = [newer + 0.5, older + 0.5];
  const top = ARC - Math.min(ARC - 1, 5 + 4 * (older - newer));
  return draw("path", { d: `M${from} ${ARC}C${from} ${top} ${to} ${top} ${to} ${ARC}` });
}

function words(bits) {
  if (!bits.length) return "";
  const [list, last] = [bits.slice(0, -1).join(", "), bits.at(-1)];
  return bits.length === 1 ? `Bit ${last} was flipped and flipped back.`
    : `Bits ${list} and ${last} were flipped and flipped back.`;
}
