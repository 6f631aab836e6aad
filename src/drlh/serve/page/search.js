// The search tab: the query, its walk, and the items nearest to it.
import { go, link } from "./address.js";
import { Failure, search, uploadOf, walk } from "./api.js";
import { Asked } from "./asked.js";
import { card } from "./card.js";
import { cube } from "./cube.js";
import { labelText } from "./codes.js";
import { announce, count, make } from "./element.js";
import { empty, failed, remark, skeletons } from "./states.js";
import { Walk } from "./walk.js";

const NO_PICTURES =
  "No pictures here: each pattern is drawn from the item's code. Give drlh serve the pictures with --data to see them.";

export class Search {
  #running = { walk: null, hits: null };
  #asked = { walk: null, hits: null };
  #bits = null; // of the query, once the search has answered
  #whyStill = null; // why there is no walk

  constructor(panel) {
    this.panel = panel;
    this.walk = new Walk();
    this.asked = new Asked();
    this.results = make("section", { class: "results", "aria-label": "Nearest items" });
    this.grid = make("div", { class: "hits" });
    this.summary = make("p", { class: "faint" });
    this.#makeControls();
  }

  #makeControls() {
    this.k = make("input", {
      type: "number", id: "k", min: 1, max: 1000, inputmode: "numeric",
      onchange: () => this.k.checkValidity() && this.k.value && go({ k: Number(this.k.value) }, { replace: true }),
    });
    this.label = make("select", { id: "label", onchange: () => go({ label: this.label.value }) });
    const controls = make(
      "div", { class: "filters" },
      make("label", {}, "Show ", this.k),
      make("label", {}, "of class ", this.label),
    );
    const head = make("header", {}, make("h2", {}, "Nearest items"), controls);
    this.results.append(head, this.summary, this.grid);
  }

  know(stats) {
    const options = stats.classes.map((name) => make("option", { value: name }, name));
    this.label.replaceChildren(make("option", { value: "" }, "any"), ...options);
    this.label.value = this.wanted ?? "";
    this.isEmpty = stats.items === 0;
  }

  // Asks only for what has changed since the last time.
  show(state) {
    this.k.value = state.k;
    this.wanted = state.label;
    this.label.value = state.label;
    if (!this.#ready(state)) return;
    const who = `${state.item}/${state.upload}`;
    const what = `${who}/${state.k}/${state.label}`;
    if (this.#asked.hits !== what) this.#loadHits(state, this.#asked.walk !== who);
    if (this.#asked.walk !== who) this.#loadWalk(state);
    this.#asked = { walk: who, hits: what };
  }

  // What failed is asked again, as after the server came back.
  retry(state) {
    this.#asked = { walk: null, hits: null };
    this.show(state);
  }

  #ready(state) {
    const lost = state.item === null && state.upload !== null && !uploadOf(state.upload);
    if ((state.item !== null || state.upload !== null) && !lost) return true;
    this.#stop("walk");
    this.#stop("hits");
    this.#asked = { walk: null, hits: null };
    this.panel.replaceChildren(lost ? gone() : this.isEmpty ? nothingIndexed() : invitation());
    return false;
  }

  #stop(what) {
    this.#running[what]?.abort();
    this.#running[what] = new AbortController();
    return this.#running[what].signal;
  }

  async #loadHits(state, isNewQuery) {
    const signal = this.#stop("hits");
    if (isNewQuery) this.#begin(state);
    this.grid.replaceChildren(...skeletons(Math.min(state.k, 20), "hit"));
    this.grid.setAttribute("aria-busy", "true");
    this.summary.textContent = "Searching …";
    try {
      this.#showHits(state, await search(state, signal));
    } catch (error) {
      if (error.name !== "AbortError") this.#fail(error, state);
    }
  }

  #begin(state) {
    this.#bits = null;
    this.#whyStill = null;
    const followed = this.results.contains(document.activeElement);
    this.panel.replaceChildren(this.asked.element, this.walk.element, this.results);
    this.asked.show(state);
    if (followed) this.asked.takeFocus();
  }

  #showHits(state, answer) {
    this.#bits = answer.bits;
    this.asked.showCode(answer);
    if (this.#whyStill) this.walk.still(answer.bits, this.#whyStill);
    this.grid.removeAttribute("aria-busy");
    const { hits } = answer;
    const took = `${answer.milliseconds < 10 ? answer.milliseconds.toFixed(1) : Math.round(answer.milliseconds)} ms`;
    const found = `${count(hits.length, "item")} found${state.label ? ` of class “${state.label}”` : ""}`;
    const nearest = hits.length ? ` The nearest is ${labelText(hits[0])} at distance ${hits[0].distance}.` : "";
    announce(`${found}.${nearest}`);
    const reading = "A mark below a bit says that it differs from the query's.";
    this.summary.textContent = hits.length ? `${found} in ${took}. ${reading}` : "";
    this.grid.replaceChildren(...hits.map((hit) => card(hit, state)));
    if (!hits.length) this.grid.append(this.#noHits(state));
    else if (hits.every((hit) => !hit.thumbnail)) this.grid.prepend(remark(NO_PICTURES));
  }

  #noHits(state) {
    if (this.isEmpty) return nothingIndexed();
    if (!state.label) return empty("Nothing found", "The index gave no item for this code.");
    const all = make("a", { href: link({ label: "" }) }, "Search all classes");
    return empty("Nothing found", `The index has no item of class “${state.label}”. `, all, ".");
  }

  #fail(error, state) {
    const again = error.status === 415 || error.status === 413 || error.status === 404 ? null : () => this.retry(state);
    this.#whyStill = null;
    this.#stop("walk");
    this.walk.element.remove();
    this.summary.textContent = "";
    this.grid.removeAttribute("aria-busy");
    this.grid.replaceChildren(failed(error, again));
    this.#asked = { walk: null, hits: null };
  }

  async #loadWalk(state) {
    const signal = this.#stop("walk");
    this.walk.wait();
    try {
      this.walk.show(await walk(state, signal));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Failure)) throw error;
      if (error.status === 0) return; // the search says so already
      this.#whyStill = error.message;
      if (this.#bits) this.walk.still(this.#bits, error.message);
    }
  }
}

function invitation() {
  const state = empty(
    "Where does your image lie on the cube?",
    "A code is a vertex. For each image an agent walks from vertex to vertex, one bit at a time, until no flip is " +
      "worth more than stopping. Images that end near each other are alike.",
  );
  state.querySelector(".face").replaceWith(cube());
  return state;
}

function gone() {
  const text = "Pictures you drop stay in this tab and leave with a reload. Drop it again, or start from an item.";
  return empty("That picture is not here any more", text);
}

function nothingIndexed() {
  const ways = [make("code", {}, "drlh index"), " or ", make("code", {}, "POST /items")];
  return empty("The index is empty", "Add items with ", ...ways, ", then search here.");
}
