// The map tab: the collection laid out by t-SNE of its codes.
import { go } from "./address.js";
import { ask } from "./api.js";
import { labelText, picture } from "./codes.js";
import { announce, count, make } from "./element.js";
import { Gestures } from "./gestures.js";
import { loosen } from "./loosen.js";
import { Plane } from "./plane.js";
import { Side, touches } from "./side.js";
import { empty, failed } from "./states.js";

const EVERY = 700; // milliseconds between two questions while the map is being made
const KEYS =
  "Map of the collection. Arrow keys go from point to point, Enter searches from one, plus and minus zoom, " +
  "Shift with arrows moves the map, Escape lets go of a selection.";

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
      if (map.ready) this.#open(map);
      else {
        this.#wait(map);
        setTimeout(() => this.#load(), EVERY);
      }
    } catch (error) {
      this.#state = "new";
      this.panel.replaceChildren(failed(error, () => this.show()));
    }
  }

  #wait({ progress, n_items: items }) {
    if (!this.bar?.isConnected) {
      this.bar = make("progress", { max: 1, "aria-label": "Map" });
      this.words = make("p", { class: "faint" });
      const frame = make("div", { class: "plane waiting skeleton" }, make("div", {}, this.bar, this.words));
      this.panel.replaceChildren(frame);
    }
    this.bar.value = progress;
    const what = items ? count(items, "code") : "the codes";
    this.words.textContent = `Laying out ${what} … ${Math.round(100 * progress)} %`;
  }

  #open(map) {
    this.#state = "ready";
    if (!map.points.length) {
      const text = "The index has no items yet; the map shows them once there are some.";
      this.panel.replaceChildren(empty("Nothing to lay out", text));
      return;
    }
    const numbers = new Map(map.classes.map((name, number) => [name, number]));
    const points = loosen(map.points.map((point) => ({ ...point, class: numbers.get(point.label) ?? -1 })));
    this.#build(map, points.length);
    this.plane.show(points);
    this.#showOnly(null);
  }

  #build({ classes, n_items: items }, shown) {
    const canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": KEYS });
    this.hint = make("div", { class: "hint", hidden: true });
    this.side = new Side(classes);
    this.plane = new Plane(canvas, (point) => this.#hint(point));
    this.gestures = new Gestures(this.plane, {
      pick: (point) => go({ tab: "search", item: String(point.id), upload: null }),
      select: (points) => this.#select(points),
    });
    const frame = make("div", {}, this.#tools(), make("div", { class: "plane" }, canvas, this.hint));
    const body = make("div", { class: "map-body" }, frame, this.side.element);
    const some = items > shown ? `${shown.toLocaleString("en")} of ${count(items, "item")}` : count(items, "item");
    const about = make("span", { class: "faint" }, `${some}; items with near codes lie near each other`);
    const title = make("header", {}, make("h2", {}, "Map of the collection"), about);
    this.panel.replaceChildren(make("section", { class: "mapped", "aria-label": "Map" }, title, body));
  }

  #tools() {
    const sign = (text, label, act) =>
      make("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    const word = (text, act) => make("button", { type: "button", class: "wide", onclick: act }, text);
    this.lasso = word("Lasso", () => this.#useLasso(!this.gestures.lassoing));
    this.lasso.setAttribute("aria-pressed", "false");
    return make(
      "div", { class: "tools", role: "toolbar", "aria-label": "Map tools" },
      sign("+", "Zoom in", () => this.plane.zoom(1.5)),
      sign("−", "Zoom out", () => this.plane.zoom(1 / 1.5)),
      sign("⤢", "Show all", () => this.plane.reset()),
      this.lasso,
      word("Select all in view", () => this.#select(this.plane.points.filter((point) => this.plane.isVisible(point)))),
    );
  }

  #useLasso(on) {
    this.gestures.lassoing = on;
    this.lasso.setAttribute("aria-pressed", String(on));
    this.plane.canvas.classList.toggle("lassoing", on);
    if (on) announce("Lasso: draw a line around points.");
  }

  #showOnly(number) {
    this.plane.only = number;
    this.plane.paint();
    this.side.showClasses(this.plane.points, number, (chosen) => this.#showOnly(chosen));
  }

  #select(points) {
    this.#useLasso(false);
    this.plane.selected = points.length ? new Set(points) : null;
    this.plane.paint();
    if (points.length) this.side.showSelection(points, () => this.#select([]));
    else {
      this.#showOnly(this.plane.only);
      announce("Nothing is selected.");
    }
  }

  #hint(point) {
    this.hint.hidden = !point;
    if (!point) return;
    if (this.hinted !== point) this.#describe(point);
    this.hinted = point;
    const [x, y] = this.plane.place(point);
    const { clientWidth: width, clientHeight: height } = this.plane.canvas;
    const { offsetWidth: wide, offsetHeight: tall } = this.hint;
    const left = x + 16 + wide > width ? x - wide - 16 : x + 16;
    this.hint.style.left = `${Math.min(width - wide - 6, Math.max(6, left))}px`;
    this.hint.style.top = `${Math.min(height - tall - 6, Math.max(6, y - tall / 2))}px`;
  }

  #describe(point) {
    const lines = [`item ${point.id}`, ...(touches() ? ["touch again to search"] : [])];
    const faint = lines.map((line) => make("span", { class: "faint" }, line));
    this.hint.replaceChildren(picture(point), make("span", {}, make("strong", {}, labelText(point)), ...faint));
    if (document.activeElement === this.plane.canvas) announce(`item ${point.id}, ${labelText(point)}`);
  }
}
