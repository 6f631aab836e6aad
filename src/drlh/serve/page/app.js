// Starts the page: tabs, theme, keys, and the server coming and going.
import { TABS, go, read } from "./address.js";
import { alive, ask } from "./api.js";
import { count, make } from "./element.js";
import { Atlas } from "./map.js";
import { Methods } from "./methods.js";
import { listen, loadSamples, showSamples } from "./query.js";
import { Search } from "./search.js";

const LOOK_AGAIN = 3000; // milliseconds between two looks for a lost server
const $ = (id) => document.getElementById(id);
const views = {
  search: new Search($("panel-search")),
  map: new Atlas($("panel-map")),
  methods: new Methods($("panel-methods")),
};

function render() {
  const state = read();
  for (const name of TABS) {
    const on = name === state.tab;
    $(`panel-${name}`).hidden = !on;
    $(`tab-${name}`).setAttribute("aria-selected", String(on));
    $(`tab-${name}`).tabIndex = on ? 0 : -1;
  }
  $("query").hidden = state.tab === "map";
  showSamples();
  views[state.tab].show(state);
}

function listenToTabs() {
  // The browser tells of a new address a moment later; the next key may be quicker.
  const choose = (name) => {
    go({ tab: name });
    render();
  };
  for (const name of TABS) $(`tab-${name}`).addEventListener("click", () => choose(name));
  document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
    const now = TABS.indexOf(read().tab);
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = TABS[(to + TABS.length) % TABS.length];
    choose(name);
    $(`tab-${name}`).focus();
  });
}

// Space and the arrows drive the walk, unless the focus is on something that uses them itself.
function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const walk = views.search.walk;
    const free = event.target.matches?.("body, main, .asked") || walk.element.contains(event.target);
    const takes = event.target.closest?.(event.key === " " ? "button, a, select, summary" : "input, select");
    if (event.ctrlKey || event.metaKey || event.altKey || !free || takes) return;
    if (read().tab === "search" && walk.shown && walk.key(event)) event.preventDefault();
  });
}

function listenToTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const changed = () => {
    $("theme").setAttribute("aria-pressed", String(now() === "dark"));
    document.dispatchEvent(new CustomEvent("theme"));
  };
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = now() === "dark" ? "light" : "dark";
    try { localStorage.setItem("drlh-theme", now()); } catch { /* no storage: for this visit only */ }
    changed();
  });
  dark.addEventListener("change", changed);
  changed();
}

let lost = false;
let timer = null;

function listenToServer() {
  document.addEventListener("server", ({ detail: answers }) => {
    if (answers === !lost) return;
    lost = !answers;
    const again = make("button", { type: "button", onclick: lookAgain }, "Try again");
    const rest = "What you see stays; searching goes on once drlh serve runs again.";
    const text = make("span", {}, make("strong", {}, "The server does not answer. "), rest);
    $("banner").replaceChildren(...(lost ? [text, again] : []));
    if (lost) timer = setTimeout(lookAgain, LOOK_AGAIN);
  });
}

async function lookAgain() {
  clearTimeout(timer);
  if (!(await alive())) {
    timer = setTimeout(lookAgain, LOOK_AGAIN);
    return;
  }
  document.dispatchEvent(new CustomEvent("server", { detail: true }));
  begin();
  const state = read();
  if (document.querySelector(`#panel-${state.tab} .failed`)) views[state.tab].retry(state);
}

async function begin() {
  loadSamples();
  const stats = await ask("stats").catch(() => null);
  if (!stats) return;
  const about = [count(stats.items, "item"), `${stats.n_bits} bits by ${stats.method}`, stats.data];
  $("about").textContent = about.filter(Boolean).join(", ");
  views.search.know(stats);
  views.methods.know(stats);
  if (stats.items === 0) views.search.show(read());
}

listenToTabs();
listenToKeys();
listenToTheme();
listenToServer();
listen();
addEventListener("hashchange", render);
$("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address after "#" is the state
  $("main").focus();
});
render();
begin();
