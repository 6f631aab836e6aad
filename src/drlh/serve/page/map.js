// The map tab: the collection laid out by t-SNE of its codes.
import { go, toItem } from "./address.js";
import { ask } from "./api.js";
import { labelText, picture } from "./codes.js";
import { announce, count, make } from "./element.js";
import { marker } from "./palette.js";
import { Plane } from "./plane.js";
import { empty, failed } from "./states.js";

const EVERY = 700; // milliseconds between two questions while the map is being made
const SHOWN = 60; // items of a selection

export class Atlas {
  #state = "new"; // new, loading, ready

  constructor(panel) {
    this.panel = panel;
    document.addEventListener("theme", () => this.plane?.paint());
  }

  // The map is fetched when it is first looked at: nothing else waits for it.
  show() {
    if (this.#state !== "new") return;
    this.#state = "loading";
    this.#wait({ progress: 0 });
    this.#load();
  }

  retry() {
    this.show();
  }

  async #load() {
    try {
      const map = await ask("map");
      if (!map.ready) {
        this.#wait(map);
        setTimeout(() => this.#load(), EVERY);
      } else this.#open(map);
    } catch (error) {
      this.#state = "new";
      this.panel.replaceChildren(failed(error, () => this.show()));
    }
  }

  #wait({ progress, n_items: items }) {
    const text = `Laying out ${items ? count(items, "code") : "the codes"} … ${Math.round(100 * (progress ?? 0))} %`;
    if (!this.bar?.isConnected) {
      this.bar = make("progress", { max: 1, "aria-label": "Map" });
      this.words = make("p", { class: "faint" });
      this.panel.replaceChildren(make("div", { class: "plane waiting skeleton" }, make("div", {}, this.bar, this.words)));
    }
    this.bar.value = progress ?? 0;
    this.words.textContent = text;
  }

  #open(map) {
    this.#state = "ready";
    if (!map.points.length) {
      this.panel.replaceChildren(empty("Nothing to lay out", "The index has no items yet; the map shows them once there are some."));
      return;
    }
    const numbers = new Map(map.classes.map((name, number) => [name, number]));
    this.classes = map.classes;
    this.points = map.points.map((point) => ({ ...point, class: numbers.get(point.label) ?? -1 }));
    this.#build(map.n_items ?? map.points.length);
    this.plane.show(this.points);
  }

  #build(items) {
    const keys = "Map of the collection. Arrow keys go from point to point, Enter searches from one, plus and minus zoom, Shift with arrows moves the map, Escape lets go of a selection.";
    const canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": keys });
    this.hint = make("div", { class: "hint", hidden: true });
    const on = { focus: (point) => this.#hint(point), pick: (point) => go(fromItem(point.id)), select: (points) => this.#select(points) };
    this.plane = new Plane(canvas, on);
    const frame = make("div", {}, this.#tools(), make("div", { class: "plane" }, canvas, this.hint));
    this.side = make("aside", { class: "side" });
    const all = items > this.points.length ? `${this.points.length.toLocaleString("en")} of ${count(items, "item")}` : count(items, "item");
    const title = make("header", {}, make("h2", {}, "Map of the collection"), make("span", { class: "faint" }, `${all}; items with near codes lie near each other`));
    this.panel.replaceChildren(make("section", { class: "mapped", "aria-label": "Map" }, title, make("div", { class: "map-body" }, frame, this.side)));
    this.#legend();
  }

  #tools() {
    const button = (sign, label, act) => make("button", { type: "button", "aria-label": label, title: label, onclick: act }, sign);
    this.lasso = make("button", { type: "button", class: "wide", "aria-pressed": "false", onclick: () => this.#useLasso(!this.plane.lassoing) }, "Lasso");
    const view = make("button", { type: "button", class: "wide", onclick: () => this.#select(this.plane.visible()) }, "Select all in view");
    return make(
      "div", { class: "tools", role: "toolbar", "aria-label": "Map tools" },
      button("+", "Zoom in", () => this.plane.zoom(1.5)), button("−", "Zoom out", () => this.plane.zoom(1 / 1.5)),
      button("⤢", "Show all", () => this.plane.reset()), this.lasso, view,
    );
  }

  #useLasso(on) {
    this.plane.lassoing = on;
    this.lasso.setAttribute("aria-pressed", String(on));
    this.plane.canvas.classList.toggle("lassoing", on);
    if (on) announce("Lasso: draw a line around points.");
  }

  #hint(point) {
    this.hint.hidden = !point;
    if (!point) return;
    if (this.hinted !== point) {
      const words = make("span", {}, make("strong", {}, labelText(point)), make("span", { class: "faint" }, `item ${point.id}`), touches() ? make("span", { class: "faint" }, "touch again to search") : null);
      this.hint.replaceChildren(picture(point), words);
      if (document.activeElement === this.plane.canvas) announce(`item ${point.id}, ${labelText(point)}`);
    }
    this.hinted = point;
    const [x, y] = this.plane.place(point);
    const { clientWidth: width, clientHeight: height } = this.plane.canvas;
    const [wide, tall] = [this.hint.offsetWidth, this.hint.offsetHeight];
    this.hint.style.left = `${Math.min(width - wide - 6, Math.max(6, x + 16 + wide > width ? x - wide - 16 : x + 16))}px`;
    this.hint.style.top = `${Math.min(height - tall - 6, Math.max(6, y - tall / 2))}px`;
  }

  #legend() {
    const counts = countBy(this.points);
    const entry = ([number, many]) => {
      const press = () => {
        this.plane.only = this.plane.only === number ? null : number;
        for (const one of list.querySelectorAll("button")) one.setAttribute("aria-pressed", String(Number(one.dataset.class) === this.plane.only));
        this.plane.paint();
      };
      return make("li", {}, make("button", { type: "button", "data-class": number, "aria-pressed": "false", onclick: press }, marker(number), this.#name(number), make("b", {}, String(many))));
    };
    const list = make("ul", { class: "legend classes" }, ...counts.map(entry));
    const click = touches() ? "Touch a point to see it, once more to search from it." : "Click a point to search from it.";
    const draw = touches() ? "Draw with the lasso to gather points." : "Draw with the lasso, or hold Shift and drag, to gather points.";
    const tip = make("p", { class: "faint" }, `${click} ${draw}`);
    this.side.replaceChildren(make("h3", {}, "Classes"), list, tip);
  }

  #name(number) {
    return number < 0 ? "no class" : this.classes[number];
  }

  #select(points) {
    this.#useLasso(false);
    this.plane.selected = points.length ? new Set(points) : null;
    this.plane.paint();
    if (!points.length) {
      this.#legend();
      announce("Nothing is selected.");
      return;
    }
    const counts = countBy(points).sort((one, other) => other[1] - one[1]);
    const bars = counts.map(([number, many]) => {
      const bar = make("i");
      bar.style.inlineSize = `${(100 * many) / counts[0][1]}%`;
      bar.style.background = `var(${number < 0 ? "--faint" : `--class-${number % 10}`})`;
      return make("li", {}, marker(number), make("span", {}, this.#name(number)), make("span", { class: "bar" }, bar), make("b", {}, String(many)));
    });
    const [centre, ...others] = fromCentre(points);
    const search = make("a", { class: "button", href: toItem(centre.id) }, "Search from the most central");
    const clear = make("button", { type: "button", onclick: () => this.#select([]) }, "Clear");
    const shown = [centre, ...others].slice(0, SHOWN).map((point) => make("a", { href: toItem(point.id), title: labelText(point), "aria-label": `Search from item ${point.id}, ${labelText(point)}` }, picture(point)));
    const rest = points.length > SHOWN ? make("p", { class: "faint" }, `and ${count(points.length - SHOWN, "more item")}`) : null;
    this.side.replaceChildren(
      make("h3", {}, `${count(points.length, "item")} selected`), make("ul", { class: "counts" }, ...bars),
      make("p", { class: "choices" }, search, clear), make("div", { class: "gathered" }, ...shown), rest,
    );
    announce(`${count(points.length, "item")} selected, ${counts.map(([number, many]) => `${many} of ${this.#name(number)}`).slice(0, 3).join(", ")}.`);
  }
}

const touches = () => matchMedia("(hover: none)").matches;

const fromItem = (id) => ({ tab: "search", item: String(id), upload: null });

// [class number, how many], in the order of the classes; those without a class last.
function countBy(points) {
  const counts = new Map();
  for (const point of points) counts.set(point.class, (counts.get(point.class) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => (one < 0) - (other < 0) || one - other);
}

// The item with the smallest sum of distances to the others, then those by their distance to it: between codes, or
// in the plane where codes are not known.
export function fromCentre(points) {
  const apart = points[0].bits ? hamming : (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
  const by = (measure) => points.map((point) => [measure(point), point]).sort(([one], [other]) => one - other).map(([, point]) => point);
  const [centre] = by((one) => points.reduce((total, other) => total + apart(one, other), 0));
  return by((one) => (one === centre ? -1 : apart(one, centre)));
}

function hamming(one, other) {
  let differ = 0;
  for (let place = 0; place < one.bits.length; place++) differ += one.bits[place] !== other.bits[place];
  return differ;
}
