// The walk of one query: a grid of bits that changes step by step, and what the agent knew at each step.
import { ActionChart } from "./actions.js";
import { Chart } from "./chart.js";
import { bitGrid, strip } from "./codes.js";
import { announce, draw, make } from "./element.js";
import { History } from "./history.js";
import { colourName, marker } from "./palette.js";
import { remark, skeletons } from "./states.js";
import { tell } from "./story.js";

const PACE = 700; // milliseconds a step at normal speed
const SHOWN = 10; // classes in the legend beside those the walk comes nearest to; the others are drawn faint
const ICONS = {
  first: "M6 5v14M19 5 9 12l10 7z",
  back: "M16 5 6 12l10 7z",
  play: "M7 4.5 19 12 7 19.5z",
  pause: "M8 5v14M16 5v14",
  next: "m8 5 10 7-10 7z",
  last: "M18 5v14M5 5l10 7-10 7z",
};
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Walk {
  #walk = null;
  #story = [];
  #step = 0;
  #timer = null;

  constructor() {
    this.element = make("section", { class: "card walk", "aria-label": "Walk across the cube" });
    this.distances = new Chart({
      title: "Distance to each class's codeword, in bits", text: "Distance to each class's codeword over the steps",
      height: 200, whole: true, onstep: (step) => this.#choose(step),
    });
    this.worth = new Chart({
      title: "The best flip and the stop over the steps (Q)", text: "Q of the best flip and of stopping over the steps",
      height: 132, onstep: (step) => this.#choose(step),
    });
    this.actions = new ActionChart();
    this.history = new History();
  }

  wait() {
    this.#forget();
    const grid = make("div", { class: "bits" }, ...skeletons(32, "bit"));
    const charts = make("div", { class: "charts" }, ...skeletons(2, "chart"));
    this.element.setAttribute("aria-busy", "true");
    const body = make("div", { class: "walk-body" }, grid, charts);
    this.element.replaceChildren(heading("Its walk across the cube"), body);
  }

  // A model that does not walk, or an item whose features cannot be had: its code, and why there is no more.
  still(bits, why) {
    this.#forget();
    const [grid] = bitGrid(bits);
    this.element.replaceChildren(heading("Its code"), make("div", { class: "still" }, grid, remark(why)));
  }

  show(walk) {
    this.#forget();
    this.#walk = walk;
    this.#story = tell(walk);
    this.#build();
    const last = this.#story.length - 1;
    if (calm.matches || document.hidden) this.#choose(last, { quiet: true });
    else {
      this.#choose(0, { quiet: true });
      this.#play();
    }
  }

  get shown() {
    return this.#walk !== null;
  }

  // Space and the arrows, wherever the focus is not on something that wants them itself.
  key(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key === " ") this.#toggle();
    else if (event.key in moves) this.#choose(this.#step + moves[event.key]);
    else return false;
    return true;
  }

  #forget() {
    this.#pause();
    this.#walk = null;
    this.element.removeAttribute("aria-busy");
  }

  #build() {
    const { n_bits: bits, classes } = this.#walk;
    const flips = this.#story.length - 1;
    const [grid, cells] = bitGrid(this.#story[0].bits);
    this.cells = cells;
    this.said = make("p", { class: "said" });
    this.target = make("div", { class: "target" });
    const left = make("div", { class: "code-side" }, grid, this.said, this.target, this.history.element);
    const right = make("div", { class: "charts" }, this.actions.element, this.worth.element, worthLegend());
    const below = make("div", { class: "charts below" }, this.distances.element, this.#legend());
    const title = heading("Its walk across the cube", `${bits} bits, ${flips} ${flips === 1 ? "flip" : "flips"}`);
    this.element.replaceChildren(title, this.#controls(), make("div", { class: "walk-body" }, left, right, below));
    this.distances.element.hidden = classes.length === 0;
    this.distances.show(classes.map((_, number) => this.#distanceLine(number)));
    this.actions.show(this.#walk);
    this.history.show(this.#walk);
    this.worth.show([
      { values: this.#story.map((one) => one.best), colour: "--one", strong: true },
      { values: this.#story.map((one) => one.stop), colour: "--flip", strong: true, dashed: true },
    ]);
  }

  #distanceLine(number) {
    const colour = this.named.has(number) ? colourName(number) : "--line";
    return { values: this.#story.map((one) => one.distances[number]), colour };
  }

  // Nearest at the end first, and so the same order at every step.
  #legend() {
    const end = this.#story.at(-1).distances;
    const order = end.map((_, number) => number).sort((one, other) => end[one] - end[other] || one - other);
    const met = new Set(this.#story.map((one) => one.nearest));
    const chosen = order.filter((number, place) => place < SHOWN || met.has(number));
    this.named = new Set(chosen);
    this.entries = new Map(chosen.map((number) => [number, make("b")]));
    const items = chosen.map((number) =>
      make("li", { "data-class": number }, marker(number), this.#walk.classes[number], this.entries.get(number)));
    const rest = order.length - chosen.length;
    const more = rest > 0 ? make("li", { class: "faint" }, `and ${rest} further away`) : null;
    return (this.legend = make("ul", { class: "legend", "aria-label": "Classes" }, ...items, more));
  }

  #controls() {
    const button = (name, label, act) =>
      make("button", { type: "button", "data-do": name, "aria-label": label, title: label, onclick: act }, icon(name));
    this.playButton = button("play", "Play", () => this.#toggle());
    this.scrubber = make("input", {
      type: "range", min: 0, max: this.#story.length - 1, step: 1, value: 0, "aria-label": "Step of the walk",
      oninput: () => this.#choose(Number(this.scrubber.value)),
    });
    this.counter = make("output", { class: "counter" });
    const speeds = [["0.5", "½×"], ["1", "1×"], ["2", "2×"], ["4", "4×"]];
    const options = speeds.map(([value, text]) => make("option", { value }, text));
    this.pace = make("select", { "aria-label": "Speed" }, ...options);
    this.pace.value = this.speed ?? "1";
    this.pace.addEventListener("change", () => { this.speed = this.pace.value; }); // for the next walk, too
    return make(
      "div", { class: "controls", role: "group", "aria-label": "Play the walk" },
      button("first", "First step", () => this.#choose(0)),
      button("back", "Step back", () => this.#choose(this.#step - 1)),
      this.playButton,
      button("next", "Step forward", () => this.#choose(this.#step + 1)),
      button("last", "Last step", () => this.#choose(this.#story.length - 1)),
      this.scrubber, this.counter, this.pace,
    );
  }

  #toggle() {
    if (this.#timer) {
      this.#pause();
      announce(this.#words());
      return;
    }
    if (this.#step === this.#story.length - 1) this.#put(0);
    this.#play();
  }

  #play() {
    this.#timer = setTimeout(() => this.#advance(), PACE / Number(this.pace.value));
    this.#dress();
  }

  #advance() {
    if (this.#step < this.#story.length - 1) this.#put(this.#step + 1);
    if (this.#step < this.#story.length - 1) this.#play();
    else {
      this.#pause();
      announce(this.#words());
    }
  }

  #pause() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#walk) this.#dress();
  }

  #dress() {
    const [name, label] = this.#timer ? ["pause", "Pause"] : ["play", "Play"];
    this.playButton.replaceChildren(icon(name));
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = label;
    this.playButton.dataset.do = name;
  }

  // A step that a person asked for: it stops the playing.
  #choose(step, { quiet = false } = {}) {
    if (!this.#walk || step < 0 || step >= this.#story.length) return;
    this.#pause();
    this.#put(step);
    if (!quiet) announce(this.#words());
  }

  #words() {
    return this.#story[this.#step].text.join(" ");
  }

  #put(step) {
    this.#step = step;
    const entry = this.#story[step];
    const ever = new Set(this.#story.slice(1, step + 1).flatMap((one) => one.flipped));
    this.cells.forEach((cell, place) => {
      cell.textContent = entry.bits[place];
      cell.className = entry.bits[place] === "1" ? "bit one" : "bit";
      cell.classList.toggle("flipped", entry.flipped.includes(place));
      cell.classList.toggle("changed", ever.has(place));
    });
    this.element.dataset.step = step;
    this.scrubber.value = step;
    this.scrubber.setAttribute("aria-valuetext", `step ${step} of ${this.#story.length - 1}`);
    this.counter.textContent = `${step} / ${this.#story.length - 1}`;
    const [way, rest] = entry.text;
    this.said.replaceChildren(make("strong", {}, way), ` ${rest}`);
    this.#showDistances(entry);
    this.distances.at(step, entry.nearest);
    this.worth.at(step);
    this.actions.at(entry);
    this.history.at(step, entry);
  }

  #showDistances(entry) {
    for (const [number, place] of this.entries) {
      place.textContent = entry.distances[number];
      place.parentElement.classList.toggle("nearest", number === entry.nearest);
    }
    const codeword = this.#walk.codewords?.[entry.nearest];
    if (!codeword) return;
    const differs = [...codeword].flatMap((bit, place) => (bit === entry.bits[place] ? [] : [place]));
    const name = this.#walk.classes[entry.nearest];
    const text = `Codeword of “${name}”: ${differs.length ? `${differs.length} differ` : "the same"}`;
    this.target.replaceChildren(make("span", { class: "faint" }, text), strip(codeword, differs));
  }
}

const heading = (text, more = "") => make("header", {}, make("h2", {}, text), make("span", { class: "faint" }, more));

const icon = (name) => draw("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, draw("path", { d: ICONS[name] }));

function worthLegend() {
  const key = (kind, text) => make("li", { class: kind }, make("i"), text);
  return make("ul", { class: "legend keys" }, key("flip-key", "best flip"), key("stop-key", "stop"));
}
