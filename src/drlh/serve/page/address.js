// What is shown is written in the address after "#", so that Back, bookmarks and links work.
//   #item=12&k=20&label=cat    #tab=map    #tab=methods&upload=1

export const TABS = ["search", "map", "methods"];
const DEFAULT_K = 20;
const MOST = 1000;

export function read() {
  const found = new URLSearchParams(location.hash.slice(1));
  const k = Number.parseInt(found.get("k") ?? DEFAULT_K, 10);
  return {
    tab: TABS.includes(found.get("tab")) ? found.get("tab") : "search",
    item: found.get("item"),
    upload: found.get("upload"),
    k: k >= 1 && k <= MOST ? k : DEFAULT_K,
    label: found.get("label") ?? "",
  };
}

export function link(change) {
  const state = { ...read(), ...change };
  const parts = new URLSearchParams();
  if (state.tab !== "search") parts.set("tab", state.tab);
  if (state.item !== null) parts.set("item", state.item);
  if (state.upload !== null) parts.set("upload", state.upload);
  if (state.k !== DEFAULT_K) parts.set("k", state.k);
  if (state.label) parts.set("label", state.label);
  return `#${parts}`;
}

// A search from an item; it is always shown in the search tab unless told.
export const toItem = (id, tab = "search") => link({ tab, item: String(id), upload: null });

export function go(change, { replace = false } = {}) {
  const wanted = link(change);
  if (wanted === location.hash || (wanted === "#" && !location.hash)) return;
  if (replace) location.replace(wanted);
  else location.hash = wanted;
}
