// Colours and shapes of classes. Ten colours that stay apart for colour-blind eyes (see style.css) and five shapes:
// colour and shape together tell fifty classes apart, and no reading depends on colour alone.
import { draw } from "./element.js";

const COLOURS = 10;
const SHAPES = ["circle", "square", "triangle", "diamond", "plus"];
const OUTLINES = {
  circle: "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z",
  square: "M-.86-.86h1.72v1.72h-1.72z",
  triangle: "M0-1.1 1.05.8h-2.1z",
  diamond: "M0-1.2 1.2 0 0 1.2-1.2 0z",
  plus: "M-.38-1.1h.76v.72h.72v.76h-.72v.72h-.76v-.72h-.72v-.76h.72z",
};

export const colourName = (number) => (number < 0 ? "--faint" : `--class-${number % COLOURS}`);

const shape = (number) => (number < 0 ? "circle" : SHAPES[(number + Math.floor(number / COLOURS)) % SHAPES.length]);

export const outline = (number) => OUTLINES[shape(number)];

// A canvas wants plain colours: the browser resolves a variable of the style sheet for the theme that is on.
export function plainColour(name) {
  const probe = document.getElementById("live");
  probe.style.color = `var(${name})`;
  const found = getComputedStyle(probe).color;
  probe.style.color = "";
  return found;
}

export function marker(number) {
  const path = draw("path", { d: outline(number) });
  path.style.fill = `var(${colourName(number)})`;
  return draw("svg", { class: "marker", viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" }, path);
}
