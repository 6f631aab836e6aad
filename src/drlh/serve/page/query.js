// Choosing what to search for: a picture dropped, pasted or chosen, or one of a few items to start from.
import { go, read, toItem } from "./address.js";
import { ask, keepUpload } from "./api.js";
import { labelText, picture } from "./codes.js";
import { make } from "./element.js";
import { skeletons } from "./states.js";

const SAMPLES = 12;

function take(file) {
  const { tab } = read();
  go({ tab: tab === "map" ? "search" : tab, item: null, upload: keepUpload(file) });
}

export function listen() {
  const file = document.getElementById("file");
  file.addEventListener("change", () => {
    if (file.files.length) take(file.files[0]);
    file.value = ""; // so that the same picture can be chosen again
  });
  document.addEventListener("paste", (event) => {
    const [pasted] = event.clipboardData?.files ?? [];
    if (pasted) take(pasted);
  });
  listenToDrops(document.getElementById("dropping"));
}

// The whole page takes a drop: who misses the field should not lose the page to the picture.
function listenToDrops(curtain) {
  const carriesFile = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    curtain.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) curtain.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    curtain.hidden = true;
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
}

export async function loadSamples() {
  const list = document.getElementById("samples");
  list.replaceChildren(...skeletons(SAMPLES, "sample").map((one) => make("li", {}, one)));
  const items = await ask(`samples?n=${SAMPLES}`).then((answer) => answer.items, () => []);
  list.parentElement.hidden = items.length === 0;
  list.replaceChildren(...items.map((item) => make("li", {}, sample(item))));
  showSamples();
}

function sample(item) {
  const text = `Search from item ${item.id}, ${labelText(item)}`;
  return make("a", { "aria-label": text, title: labelText(item), "data-id": item.id }, picture(item));
}

// Links keep what else the address says, so they change with it; the elements stay, and with them the focus.
export function showSamples() {
  const state = read();
  for (const link of document.querySelectorAll("#samples a")) {
    link.href = toItem(link.dataset.id, state.tab === "methods" ? "methods" : "search");
    if (link.dataset.id === state.item) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
