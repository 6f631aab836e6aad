// Lines over the steps of a walk, with a cursor that can be dragged.
import { draw, make } from "./element.js";

export const EDGE = { left: 44, right: 14, top: 10, bottom: 24 };

export class Chart {
  #series = [];
  #strong = -1;
  #step = 0;
  #area = null;

  // `marks` numbers the vertical axis with whole numbers only when `whole`.
  constructor({ title, text, height, whole = false, onstep }) {
    Object.assign(this, { height, whole, onstep });
    this.svg = draw("svg", { class: "chart", role: "img", "aria-label": text });
    this.element = make("figure", { class: "charted" }, make("figcaption", {}, title), this.svg);
    this.svg.addEventListener("pointerdown", (event) => this.#grab(event));
    this.svg.addEventListener("pointermove", (event) => event.buttons && this.#follow(event));
    new ResizeObserver(() => this.#paint()).observe(this.element);
  }

  // Each series: { values, colour: name of a CSS variable, dashed }. A null value is a gap.
  show(series) {
    this.#series = series;
    this.#strong = -1;
    this.#paint();
  }

  at(step, strong = -1) {
    this.#step = step;
    this.#strong = strong;
    this.#mark();
  }

  #paint() {
    const width = this.element.clientWidth;
    if (!width || !this.#series.length) return;
    this.#area = this.#measure(width);
    const { y, ticks } = this.#area;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.replaceChildren(
      ...ticks.flatMap((tick) => this.#rule(tick, y(tick), width)),
      ...this.#stepNumbers(),
      (this.cursor = draw("line", { class: "cursor", y1: EDGE.top, y2: this.height - EDGE.bottom })),
      ...(this.lines = this.#series.map((one) => this.#line(one))),
      ...(this.dots = this.#series.map((one) => this.#dot(one))),
    );
    this.#mark();
  }

  #measure(width) {
    const known = this.#series.flatMap((one) => one.values).filter((value) => value !== null);
    const last = Math.max(1, ...this.#series.map((one) => one.values.length - 1));
    const ticks = niceTicks(Math.min(0, ...known), Math.max(this.whole ? 1 : 0, ...known), this.whole);
    const [low, high] = [ticks[0], ticks.at(-1)];
    const [inner, tall] = [width - EDGE.left - EDGE.right, this.height - EDGE.top - EDGE.bottom];
    const x = (step) => EDGE.left + (inner * step) / last;
    const y = (value) => EDGE.top + (tall * (high - value)) / (high - low);
    return { x, y, ticks, last, inner };
  }

  #rule(tick, y, width) {
    const text = this.whole ? tick : tickText(tick);
    return [
      draw("line", { class: tick === 0 ? "axis" : "rule", x1: EDGE.left, x2: width - EDGE.right, y1: y, y2: y }),
      draw("text", { x: EDGE.left - 8, y: y + 4, "text-anchor": "end" }, String(text)),
    ];
  }

  #stepNumbers() {
    const { x, last, inner } = this.#area;
    const every = Math.max(1, Math.ceil((last * 32) / inner));
    const steps = Array.from({ length: last + 1 }, (_, step) => step).filter((step) => step % every === 0);
    return steps.map((step) => draw("text", { x: x(step), y: this.height - 6, "text-anchor": "middle" }, String(step)));
  }

  #line({ values, colour, dashed }) {
    const { x, y } = this.#area;
    let d = "";
    values.forEach((value, step) => {
      if (value !== null) d += `${step && values[step - 1] !== null ? "L" : "M"}${x(step)} ${y(value)}`;
    });
    const line = draw("path", { class: dashed ? "line dashed" : "line", d });
    line.style.stroke = `var(${colour})`;
    return line;
  }

  #dot({ colour }) {
    const dot = draw("circle", { class: "dot", r: 4 });
    dot.style.fill = `var(${colour})`;
    return dot;
  }

  #mark() {
    if (!this.#area) return;
    const { x, y } = this.#area;
    this.cursor.setAttribute("x1", x(this.#step));
    this.cursor.setAttribute("x2", x(this.#step));
    this.#series.forEach(({ values, strong }, number) => {
      const on = strong || number === this.#strong;
      const value = values[this.#step] ?? null;
      this.lines[number].classList.toggle("strong", on);
      this.dots[number].classList.toggle("off", !on || value === null);
      this.dots[number].setAttribute("cx", x(this.#step));
      this.dots[number].setAttribute("cy", y(value ?? 0));
    });
    const chosen = this.lines[this.#strong];
    if (chosen) this.lines.at(-1).after(chosen); // on top of the others
  }

  #grab(event) {
    this.svg.setPointerCapture(event.pointerId);
    this.#follow(event);
  }

  #follow(event) {
    if (!this.#area) return;
    const { last, inner } = this.#area;
    const across = event.clientX - this.svg.getBoundingClientRect().left - EDGE.left;
    this.onstep(Math.min(last, Math.max(0, Math.round((across / inner) * last))));
  }
}

export const tickText = (tick) => String(Number(tick.toPrecision(3))).replace("-", "−");

// Four or so round numbers that hold all values between the first and the last.
export function niceTicks(low, high, whole) {
  const span = high - low || 1;
  const rough = span / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = power * ([1, 2, 5].find((times) => times * power >= rough) ?? 10);
  if (whole) step = Math.max(1, Math.round(step));
  const first = Math.floor(low / step + 1e-9);
  const ticks = [];
  for (let place = first; place === first || ticks.at(-1) < high - 1e-9 * span; place++) ticks.push(place * step);
  if (ticks.length === 1) ticks.push(ticks[0] + step);
  return ticks;
}
