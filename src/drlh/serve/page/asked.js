// The query as it is shown above its answers: its picture, what it is, and its code.
import { ask, uploadOf } from "./api.js";
import { labelText, picture, strip } from "./codes.js";
import { make } from "./element.js";
import { skeletons } from "./states.js";

export class Asked {
  #running = null;

  constructor() {
    this.element = make("div", { class: "asked card", tabindex: -1 });
  }

  show(state) {
    this.#running?.abort();
    this.#running = new AbortController();
    this.code = make("div", { class: "asked-code" });
    if (state.item !== null) {
      this.element.replaceChildren(...skeletons(1, "asked-picture"));
      this.#describe(state.item, this.#running.signal);
      return;
    }
    const { file, address } = uploadOf(state.upload);
    const image = make("img", { src: address, alt: "Your picture" });
    image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth < 64));
    image.addEventListener("error", () => image.replaceWith(make("span", { class: "identicon blank" }, "?")));
    this.#fill(make("span", { class: "picture" }, image), "Your picture", file.name || "pasted");
  }

  // Who went on from a hit far below sees the new query first.
  takeFocus() {
    this.element.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "start" });
  }

  // The code comes with the answer to the search.
  showCode({ bits, code }) {
    this.code.replaceChildren(strip(bits), make("code", {}, code));
  }

  async #describe(id, signal) {
    const item = await ask(`items/${id}`, { signal }).catch((error) => (error.name === "AbortError" ? null : { id }));
    if (!item) return;
    const title = labelText(item);
    this.#fill(picture(item, title), title, item.name ? `${item.name}, item ${id}` : `item ${id}`);
  }

  #fill(image, title, text) {
    const heading = [make("p", { class: "eyebrow" }, "Searching from"), make("h2", {}, title)];
    this.element.replaceChildren(image, make("div", {}, ...heading, make("p", { class: "faint" }, text), this.code));
  }
}
