// The methods tab: the same query under every method that is served, side by side.
import { go } from "./address.js";
import { ask, compare, uploadOf } from "./api.js";
import { Asked } from "./asked.js";
import { card } from "./card.js";
import { strip } from "./codes.js";
import { announce, make } from "./element.js";
import { empty, failed, skeletons } from "./states.js";

const INVITATION =
  "Its nearest items under each method then stand side by side, with the share that shows the same class.";

export class Methods {
  #running = null;
  #asked = null;
  #served = null; // the methods, once known

  constructor(panel) {
    this.panel = panel;
    this.k = make("input", {
      type: "number", id: "methods-k", min: 1, max: 1000, inputmode: "numeric",
      onchange: () => this.k.checkValidity() && this.k.value && go({ k: Number(this.k.value) }, { replace: true }),
    });
    this.truth = make("select", { id: "truth", onchange: () => this.retry(this.state) });
    this.isOf = make("label", {}, "Your picture shows ", this.truth);
    const filters = make("div", { class: "filters" }, this.isOf, make("label", {}, "Show ", this.k));
    this.head = make("header", {}, make("h2", {}, "The same query, method by method"), filters);
    this.asked = new Asked();
    this.summary = make("p", { class: "faint" });
    this.columns = make("div", { class: "columns" });
    const parts = [this.head, this.summary, this.columns];
    this.section = make("section", { class: "results", "aria-label": "Methods" }, ...parts);
  }

  know(stats) {
    const options = stats.classes.map((name) => make("option", { value: name }, name));
    this.truth.replaceChildren(make("option", { value: "" }, "not said"), ...options);
  }

  async show(state) {
    this.state = state;
    this.k.value = state.k;
    this.isOf.hidden = state.item !== null;
    if (!(await this.#comparable())) return;
    if (this.state !== state) return; // the address has changed meanwhile
    const has = state.item !== null || (state.upload !== null && uploadOf(state.upload));
    if (!has) {
      this.#asked = null;
      this.panel.replaceChildren(empty("Choose a query above", INVITATION));
      return;
    }
    const what = JSON.stringify([state.item, state.upload, state.k, this.truth.value]);
    if (this.#asked !== what) this.#load(state, what);
  }

  retry(state) {
    this.#asked = null;
    this.show(state);
  }

  async #comparable() {
    if (!this.#served) this.panel.replaceChildren(make("div", { class: "columns" }, waiting(), waiting()));
    try {
      this.#served ??= (await ask("methods")).methods;
    } catch (error) {
      this.panel.replaceChildren(failed(error, () => this.retry(this.state)));
      return false;
    }
    if (this.#served.length > 1) return true;
    const how = make("code", {}, "drlh serve MODEL --index INDEX --compare OTHER.model=OTHER-INDEX");
    this.panel.replaceChildren(empty("Only one method is served", "To see another beside it, start ", how, "."));
    return false;
  }

  async #load(state, what) {
    this.#running?.abort();
    this.#running = new AbortController();
    this.#asked = what;
    const followed = this.columns.contains(document.activeElement);
    this.asked.show(state);
    this.panel.replaceChildren(this.asked.element, this.section);
    if (followed) this.asked.takeFocus();
    this.columns.replaceChildren(...this.#served.map(waiting));
    this.summary.textContent = "Searching …";
    try {
      this.#fill(state, await compare(state, state.item === null ? this.truth.value : "", this.#running.signal));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#asked = null;
      this.summary.textContent = "";
      this.columns.replaceChildren(failed(error, () => this.retry(state)));
    }
  }

  #fill(state, answer) {
    const { methods, label } = answer;
    this.columns.replaceChildren(...methods.map((method) => column(method, answer, state)));
    const truth = label
      ? `The query shows ${label.join(", ")}; ✓ marks items that do, too.`
      : "The query's class is not known, so nothing is marked right or wrong.";
    const all = methods.length === 2 ? "both" : `all ${methods.length}`;
    this.summary.textContent = `${truth} ${sharedBy(methods)} of ${answer.k} are found by ${all} methods.`;
    const known = methods.filter((one) => one.precision !== null);
    const scores = known.map((one) => `${one.name} ${percent(one.precision)}`);
    announce(scores.length ? `Precision: ${scores.join(", ")}.` : `${methods.length} methods have answered.`);
  }
}

const waiting = () => make("div", { class: "method card" }, ...skeletons(6, "hit"));

function sharedBy(methods) {
  const [first, ...others] = methods.map((method) => method.hits.map((hit) => hit.id));
  return first.filter((id) => others.every((ids) => ids.includes(id))).length;
}

const percent = (share) => `${Math.round(100 * share)} %`;

function column(method, { k, label }, state) {
  const truth = label && new Set(label);
  const known = method.precision !== null;
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i"));
  bar.firstChild.style.inlineSize = `${100 * (method.precision ?? 0)}%`;
  const share = make("strong", {}, known ? percent(method.precision) : "–");
  const score = make("p", { class: "score" }, share, make("span", { class: "faint" }, ` precision@${k}`));
  const facts = make("p", { class: "faint" }, `${method.n_bits} bits, ${method.milliseconds.toFixed(1)} ms`);
  const isRight = (hit) => (truth ? hit.labels.some((one) => truth.has(one)) : null);
  const cards = method.hits.map((hit) => card(hit, state, { tab: "methods", mark: isRight(hit) }));
  return make(
    "section", { class: "method card", "aria-label": method.name, "data-method": method.name },
    make("header", {}, make("h3", {}, method.name), facts), score, known ? bar : null, strip(method.bits),
    make("div", { class: "hits" }, ...cards),
  );
}
