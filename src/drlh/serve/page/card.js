// One found item: its picture, what it is, how far it lies, and which bits differ.
import { toItem } from "./address.js";
import { labelText, picture, strip } from "./codes.js";
import { make } from "./element.js";

// `mark` says whether the item is of the query's class; null where that is not known.
export function card(hit, state, { tab = "search", mark = null } = {}) {
  const own = String(hit.id) === state.item;
  const kinds = ["hit", own && "own", mark === true && "good", mark === false && "bad"].filter(Boolean);
  const said = `${labelText(hit)}, distance ${hit.distance}${own ? ", the query itself" : ""}. Search from it`;
  const about = { href: toItem(hit.id, tab), "aria-label": said, title: hit.name || null, "data-id": hit.id };
  const badge = own ? make("span", { class: "badge" }, "query") : null;
  return make(
    "a", { class: kinds.join(" "), ...about },
    picture(hit), sign(mark), badge, caption(hit), strip(hit.bits, hit.differs),
  );
}

function sign(mark) {
  if (mark === null) return null;
  return make("span", { class: mark ? "sign good" : "sign bad" }, mark ? "✓" : "✕");
}

function caption(hit) {
  const bits = hit.differs.length === 1 ? "1 bit differs" : `${hit.differs.length} bits differ`;
  const distance = make("span", { class: "distance", title: bits }, String(hit.distance));
  return make("span", { class: "caption" }, make("strong", {}, labelText(hit)), distance);
}
