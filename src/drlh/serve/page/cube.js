// A picture of what a walk is: sixteen vertices, one for each code of four bits, and four flips from one to another.
import { draw } from "./element.js";

const WALK = ["0000", "0001", "0101", "0111", "1111"];
// Where each bit moves a vertex, the last bit first.
const MOVES = [[74, 8], [34, -30], [0, -78], [178, -14]];

export function cube() {
  const codes = Array.from({ length: 16 }, (_, number) => number.toString(2).padStart(4, "0"));
  const edges = codes.flatMap((code, number) =>
    [1, 2, 4, 8].filter((bit) => !(number & bit)).map((bit) => line(code, codes[number | bit])).join(""));
  const path = WALK.slice(1).map((code, step) => line(WALK[step], code)).join("");
  const dots = codes.map((code) => dot(code, WALK.includes(code) ? "on" : "off", 4));
  return draw(
    "svg", { class: "cube", viewBox: "0 0 340 190", "aria-hidden": "true" },
    draw("path", { class: "edges", d: edges.join("") }), draw("path", { class: "path", d: path }),
    ...dots, dot(WALK.at(-1), "end", 7), ...WALK.map(name),
  );
}

function place(code) {
  const bits = [...code].reverse();
  const sum = (axis) => bits.reduce((total, bit, number) => total + (bit === "1" ? MOVES[number][axis] : 0), 0);
  return [26 + sum(0), 160 + sum(1)];
}

const line = (from, to) => `M${place(from)}L${place(to)}`;

function dot(code, kind, r) {
  const [cx, cy] = place(code);
  return draw("circle", { class: kind, cx, cy, r });
}

function name(code, step) {
  const [x, y] = place(code);
  const [dx, dy] = [[0, 19], [0, 19], [-22, 3], [0, -11], [0, -13]][step]; // beside the line
  return draw("text", { x: x + dx, y: y + dy, "text-anchor": "middle" }, code);
}
