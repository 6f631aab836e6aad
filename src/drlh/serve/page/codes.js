// Codes as pictures: a strip of bits, and a pattern for items that have no photo.
import { local } from "./api.js";
import { draw, make } from "./element.js";

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
    { class: "strip", viewBox: `0 0 ${perRow * 4 - 1} ${rows * 16 - 2}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    ...Object.entries(paths).map(([name, d]) => draw("path", { class: name, d })),
  );
}

// Bits in a square: near codes look alike.
export function identicon(bits) {
  const side = Math.ceil(Math.sqrt(bits.length));
  const rows = Math.ceil(bits.length / side);
  const paths = { zero: "", one: "" };
  [...bits].forEach((bit, place) => {
    const [x, y] = [place % side, Math.floor(place / side)];
    paths[bit === "1" ? "one" : "zero"] += box(x + 0.06, y + 0.06, 0.88, 0.88);
  });
  return draw(
    "svg",
    { class: "identicon", viewBox: `-.6 ${-0.6 - (side - rows) / 2} ${side + 1.2} ${side + 1.2}`, "aria-hidden": "true" },
    ...Object.entries(paths).map(([name, d]) => draw("path", { class: name, d })),
  );
}

// An item's photo, or its code where there is none or it cannot be shown.
export function picture(item, text = "") {
  const instead = () => (item.bits ? identicon(item.bits) : make("span", { class: "identicon blank" }, text || "?"));
  const frame = make("span", { class: "picture" });
  if (!item.thumbnail) frame.append(instead());
  else {
    const image = make("img", { src: local(item.thumbnail), alt: text, loading: "lazy", decoding: "async" });
    image.addEventListener("error", () => image.replaceWith(instead()));
    frame.append(image);
  }
  return frame;
}

export const labelText = (item) => item.labels?.join(", ") || item.label || item.name || `item ${item.id}`;
