// Codes as pictures: a strip of bits, a grid of them, and a pattern for items that have no photo.
import { ask, local } from "./api.js";
import { draw, make } from "./element.js";

const UNSAID = { "aria-hidden": "true" };

const box = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;

// The code in one line or two; a bit that differs from the query's reaches below the others.
export function strip(bits, differs = []) {
  const perRow = bits.length > 64 ? Math.ceil(bits.length / 2) : bits.length;
  const other = new Set(differs);
  const paths = { zero: "", one: "", differs: "" };
  [...bits].forEach((bit, place) => {
    const x = (place % perRow) * 4;
    const y = Math.floor(place / perRow) * 16;
    paths[bit === "1" ? "one" : "zero"] += box(x, y, 3, 9);
    if (other.has(place)) paths.differs += box(x, y + 10.5, 3, 3.5);
  });
  const rows = Math.ceil(bits.length / perRow);
  return draw(
    "svg",
    { class: "strip", viewBox: `0 0 ${perRow * 4 - 1} ${rows * 16 - 2}`, preserveAspectRatio: "none", ...UNSAID },
    ...Object.entries(paths).map(([name, d]) => draw("path", { class: name, d })),
  );
}

// [grid, cells]; short codes get few columns, so that bits stay large.
export function bitGrid(bits) {
  const columns = bits.length % 8 && bits.length < 16 ? Math.ceil(bits.length / 2) : bits.length > 96 ? 16 : 8;
  const cells = [...bits].map((bit, place) =>
    make("span", { class: bit === "1" ? "bit one" : "bit", title: `bit ${place}` }, bit));
  const kind = columns > 8 ? "bits dense" : "bits";
  const grid = make("div", { class: kind, role: "img", "aria-label": `A code of ${bits.length} bits` }, ...cells);
  grid.style.setProperty("--columns", columns);
  return [grid, cells];
}

// Bits in a square: near codes look alike.
function identicon(bits) {
  const side = Math.ceil(Math.sqrt(bits.length));
  const rows = Math.ceil(bits.length / side);
  const paths = { zero: "", one: "" };
  [...bits].forEach((bit, place) => {
    const [x, y] = [place % side, Math.floor(place / side)];
    paths[bit === "1" ? "one" : "zero"] += box(x + 0.06, y + 0.06, 0.88, 0.88);
  });
  const view = `-.6 ${-0.6 - (side - rows) / 2} ${side + 1.2} ${side + 1.2}`;
  return draw(
    "svg",
    { class: "identicon", viewBox: view, ...UNSAID },
    ...Object.entries(paths).map(([name, d]) => draw("path", { class: name, d })),
  );
}

// An item's photo, or its code where there is none or it cannot be shown.
export function picture(item, text = "") {
  const frame = make("span", { class: "picture" });
  if (!item.thumbnail) frame.append(pattern(item));
  else {
    const image = make("img", { src: local(item.thumbnail), alt: text, loading: "lazy", decoding: "async" });
    image.addEventListener("error", () => image.replaceWith(pattern(item)));
    frame.append(image);
  }
  return frame;
}

// Not every list of items brings their codes: what is missing is asked for.
function pattern({ id, bits }) {
  if (bits) return identicon(bits);
  const blank = make("span", { class: "identicon" });
  ask(`items/${id}`).then((item) => blank.replaceWith(identicon(item.bits)), () => {});
  return blank;
}

export const labelText = (item) => item.labels?.join(", ") || item.label || item.name || `item ${item.id}`;
