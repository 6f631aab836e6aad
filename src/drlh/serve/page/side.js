// Beside the map: the classes in it, or what a lasso gathered.
import { toItem } from "./address.js";
import { labelText, picture } from "./codes.js";
import { announce, count, make } from "./element.js";
import { colourName, marker } from "./palette.js";

const SHOWN = 60; // items of a selection

export const touches = () => matchMedia("(hover: none)").matches;

export class Side {
  constructor(classes) {
    this.element = make("aside", { class: "side" });
    this.classes = classes;
  }

  #name(number) {
    return number < 0 ? "no class" : this.classes[number];
  }

  // `choose` is given the number of the class to show alone, or null.
  showClasses(points, chosen, choose) {
    const entries = countBy(points).map(([number, many]) => {
      const act = () => choose(number === chosen ? null : number);
      const pressed = String(number === chosen);
      const button = make("button", { type: "button", "data-class": number, "aria-pressed": pressed, onclick: act });
      button.append(marker(number), this.#name(number), make("b", {}, String(many)));
      return make("li", {}, button);
    });
    const list = make("ul", { class: "legend classes" }, ...entries);
    const held = this.element.contains(document.activeElement) && document.activeElement.dataset.class;
    this.element.replaceChildren(make("h3", {}, "Classes"), list, make("p", { class: "faint" }, tip()));
    if (held) list.querySelector(`[data-class="${held}"]`)?.focus();
  }

  showSelection(points, clear) {
    const [centre, ...others] = fromCentre(points);
    const counts = countBy(points).sort((one, other) => other[1] - one[1]);
    const bars = counts.map(([number, many]) => this.#bar(number, many, counts[0][1]));
    const search = make("a", { class: "button", href: toItem(centre.id) }, "Search from the most central");
    const letGo = make("button", { type: "button", onclick: clear }, "Clear");
    const rest = points.length - SHOWN;
    const more = rest > 0 ? make("p", { class: "faint" }, `and ${count(rest, "more item")}`) : null;
    this.element.replaceChildren(
      make("h3", {}, `${count(points.length, "item")} selected`),
      make("ul", { class: "counts" }, ...bars),
      make("p", { class: "choices" }, search, letGo),
      make("div", { class: "gathered" }, ...[centre, ...others].slice(0, SHOWN).map(gathered)),
      ...(more ? [more] : []),
    );
    const most = counts.slice(0, 3).map(([number, many]) => `${many} of ${this.#name(number)}`).join(", ");
    announce(`${count(points.length, "item")} selected: ${most}.`);
  }

  #bar(number, many, most) {
    const fill = make("i");
    fill.style.inlineSize = `${(100 * many) / most}%`;
    fill.style.background = `var(${colourName(number)})`;
    const name = make("span", {}, this.#name(number));
    return make("li", {}, marker(number), name, make("span", { class: "bar" }, fill), make("b", {}, String(many)));
  }
}

function tip() {
  return touches()
    ? "Touch a point to see it, once more to search from it. Draw with the lasso to gather points."
    : "Click a point to search from it. Draw with the lasso, or hold Shift and drag, to gather points.";
}

function gathered(point) {
  const text = `Search from item ${point.id}, ${labelText(point)}`;
  return make("a", { href: toItem(point.id), title: labelText(point), "aria-label": text }, picture(point));
}

// [class number, how many], in the order of the classes; those without a class last.
function countBy(points) {
  const counts = new Map();
  for (const point of points) counts.set(point.class, (counts.get(point.class) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => (one < 0) - (other < 0) || one - other);
}

// The item with the smallest sum of distances to the others, then those by their distance to it: between codes, or
// in the plane where codes are not known.
function fromCentre(points) {
  const apart = points[0].bits ? hamming : (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
  const by = (measure) => {
    const measured = points.map((point) => [measure(point), point]);
    return measured.sort(([one], [other]) => one - other).map(([, point]) => point);
  };
  const [centre] = by((one) => points.reduce((total, other) => total + apart(one, other), 0));
  return by((one) => (one === centre ? -1 : apart(one, centre)));
}

function hamming(one, other) {
  let differ = 0;
  for (let place = 0; place < one.bits.length; place++) differ += one.bits[place] !== other.bits[place];
  return differ;
}
