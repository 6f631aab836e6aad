// Points in a plane on a canvas: zoom, pan, a point under the pointer or the keys, and the lasso.
import { colourName, outline, plainColour } from "./palette.js";

const FARTHEST = 40; // times
const REACH = 14; // pixels from the pointer to a point
const STILL = 6; // pixels a press may tremble and still be a click
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Plane {
  points = [];
  selected = null; // a set of points, or null
  only = null; // the number of the one class shown strongly, or null
  focus = null;
  lassoing = false;
  #view = { scale: 1, x: 0.5, y: 0.5 }; // what lies in the middle
  #pointers = new Map();
  #loop = null;
  #press = null;
  #waiting = false;

  // `on` has focus(point | null), pick(point) and select(points).
  constructor(canvas, on) {
    this.canvas = canvas;
    this.on = on;
    const listen = (name, act, options) => canvas.addEventListener(name, (event) => act(event), options);
    listen("pointerdown", (event) => this.#down(event));
    listen("pointermove", (event) => this.#move(event));
    listen("pointerup", (event) => this.#up(event));
    listen("pointercancel", (event) => this.#cancel(event));
    // A finger leaves whenever it is lifted; what it touched stays shown.
    listen("pointerleave", (event) => event.buttons || event.pointerType === "touch" || this.#focusOn(null));
    listen("wheel", (event) => this.#wheel(event), { passive: false });
    listen("keydown", (event) => this.#key(event));
    listen("blur", () => this.#focusOn(null));
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  // Points: { x, y (both in 0…1), class: number, … }.
  show(points) {
    this.points = points;
    this.paint();
  }

  zoom(times, [x, y] = this.#middle()) {
    const [wx, wy] = this.#toWorld(x, y);
    const scale = Math.min(FARTHEST, Math.max(1, this.#view.scale * times));
    const kept = this.#view.scale / scale; // the point under the pointer stays there
    this.#view = { scale, x: wx + (this.#view.x - wx) * kept, y: wy + (this.#view.y - wy) * kept };
    this.#moved();
  }

  reset() {
    this.#view = { scale: 1, x: 0.5, y: 0.5 };
    this.#moved();
  }

  visible() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return this.points.filter((point) => {
      const [x, y] = this.place(point);
      return x >= 0 && y >= 0 && x <= width && y <= height;
    });
  }

  // Pixels of a point on the canvas.
  place({ x, y }) {
    const [mx, my] = this.#middle();
    const size = this.#size();
    return [mx + (x - this.#view.x) * size, my + (y - this.#view.y) * size];
  }

  paint() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.#paintNow();
    });
  }

  #middle() {
    return [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
  }

  #size() {
    return this.#view.scale * (Math.min(this.canvas.clientWidth, this.canvas.clientHeight) - 32);
  }

  #toWorld(x, y) {
    const [mx, my] = this.#middle();
    return [this.#view.x + (x - mx) / this.#size(), this.#view.y + (y - my) / this.#size()];
  }

  #moved() {
    const inside = (value) => Math.min(1, Math.max(0, value));
    this.#view.x = inside(this.#view.x);
    this.#view.y = inside(this.#view.y);
    this.on.focus(this.focus);
    this.paint();
  }

  #paintNow() {
    const { canvas } = this;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width) return;
    const dense = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    const pen = canvas.getContext("2d");
    pen.scale(dense, dense);
    const radius = Math.min(9, (2.4 + this.#view.scale ** 0.5) * Math.min(1.3, Math.max(0.75, Math.min(width, height) / 500)));
    for (const number of new Set(this.points.map((point) => point.class))) this.#paintClass(pen, number, radius);
    if (this.focus) this.#paintFocus(pen, radius);
    if (this.#loop) this.#paintLoop(pen);
  }

  #paintClass(pen, number, radius) {
    const shape = new Path2D();
    shape.addPath(new Path2D(outline(number)), new DOMMatrix().scale(radius));
    pen.fillStyle = plainColour(colourName(number));
    for (const point of this.points) {
      if (point.class !== number) continue;
      const [x, y] = this.place(point);
      pen.globalAlpha = this.#isStrong(point) ? 0.85 : 0.13;
      pen.translate(x, y);
      pen.fill(shape);
      pen.translate(-x, -y);
    }
    pen.globalAlpha = 1;
  }

  #isStrong(point) {
    return (this.only === null || point.class === this.only) && (!this.selected || this.selected.has(point));
  }

  #paintFocus(pen, radius) {
    const [x, y] = this.place(this.focus);
    pen.strokeStyle = plainColour("--ink");
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.arc(x, y, radius + 5, 0, 2 * Math.PI);
    pen.stroke();
  }

  #paintLoop(pen) {
    pen.beginPath();
    for (const point of this.#loop) pen.lineTo(...this.place(point));
    pen.closePath();
    pen.strokeStyle = pen.fillStyle = plainColour("--flip");
    pen.lineWidth = 2;
    pen.setLineDash([6, 4]);
    pen.stroke();
    pen.globalAlpha = 0.1;
    pen.fill();
    pen.globalAlpha = 1;
    pen.setLineDash([]);
  }

  #nearest(x, y) {
    let [best, least] = [null, REACH ** 2];
    for (const point of this.points) {
      if (this.only !== null && point.class !== this.only) continue;
      const [px, py] = this.place(point);
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far <= least) [best, least] = [point, far];
    }
    return best;
  }

  #focusOn(point) {
    if (point === this.focus) return;
    this.focus = point;
    this.on.focus(point);
    this.paint();
  }

  #at(event) {
    const frame = this.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  #down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    const at = this.#at(event);
    this.#pointers.set(event.pointerId, at);
    if (this.#pointers.size > 1) {
      this.#press = this.#loop = null; // a second finger: pinch
      return;
    }
    this.#press = at;
    if (!this.lassoing && !event.shiftKey) return;
    this.#focusOn(null);
    this.#loop = [this.#worldPoint(at)];
  }

  #worldPoint(at) {
    const [x, y] = this.#toWorld(...at);
    return { x, y };
  }

  #move(event) {
    const at = this.#at(event);
    const before = this.#pointers.get(event.pointerId);
    if (!before) {
      this.#focusOn(this.#nearest(...at));
      this.canvas.classList.toggle("over", this.focus !== null);
    } else if (this.#pointers.size > 1) this.#pinch(event.pointerId, before, at);
    else if (this.#loop) {
      this.#loop.push(this.#worldPoint(at));
      this.paint();
    } else this.#drag(before, at);
    if (before) this.#pointers.set(event.pointerId, at);
  }

  #drag(before, at) {
    if (this.#press && Math.hypot(at[0] - this.#press[0], at[1] - this.#press[1]) < STILL) return;
    this.#press = null;
    this.#shift(at[0] - before[0], at[1] - before[1]);
  }

  #shift(dx, dy) {
    this.#view.x -= dx / this.#size();
    this.#view.y -= dy / this.#size();
    this.#moved();
  }

  #pinch(moving, before, at) {
    const [, other] = [...this.#pointers].find(([pointer]) => pointer !== moving);
    const apart = (one) => Math.max(10, Math.hypot(one[0] - other[0], one[1] - other[1]));
    this.zoom(apart(at) / apart(before), other);
  }

  #up(event) {
    const at = this.#at(event);
    const [press, loop] = [this.#press, this.#loop];
    this.#cancel(event);
    if (loop && loop.length > 2) this.#close(loop);
    else if (press && Math.hypot(at[0] - press[0], at[1] - press[1]) < STILL) this.#click(this.#nearest(...at), event.pointerType);
  }

  #cancel(event) {
    this.#pointers.delete(event.pointerId);
    this.#press = this.#loop = null;
    this.paint();
  }

  #close(loop) {
    this.on.select(this.points.filter((point) => isInside(point, loop)));
  }

  // A finger hides what it touches: the first touch shows the picture, the second searches.
  #click(point, kind) {
    const ready = kind !== "touch" || point === this.focus;
    this.#focusOn(point);
    if (point && ready) this.on.pick(point);
  }

  #wheel(event) {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), this.#at(event));
  }

  #key(event) {
    const arrow = ARROWS[event.key];
    if (arrow && event.shiftKey) this.#shift(-60 * arrow[0], -60 * arrow[1]);
    else if (arrow) this.#step(arrow);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") this.reset();
    else if (event.key === "Enter" && this.focus) this.on.pick(this.focus);
    else if (event.key === "Escape") this.on.select([]);
    else return;
    event.preventDefault();
  }

  // The next point in a direction: ahead counts once, aside twice.
  #step([dx, dy]) {
    const [x, y] = this.focus ? this.place(this.focus) : this.#middle();
    let [best, least] = [null, Infinity];
    for (const point of this.points) {
      if (point === this.focus || (this.only !== null && point.class !== this.only)) continue;
      const [px, py] = this.place(point);
      const ahead = (px - x) * dx + (py - y) * dy;
      const aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      const cost = this.focus ? ahead + 2 * aside : Math.abs(ahead) + aside;
      if ((ahead > 0.5 || !this.focus) && cost < least) [best, least] = [point, cost];
    }
    if (!best) return;
    this.#focusOn(best);
    if (!this.visible().includes(best)) [this.#view.x, this.#view.y] = [best.x, best.y];
    this.#moved();
  }
}

// Even or odd: how often a ray from the point crosses the loop.
export function isInside({ x, y }, loop) {
  let inside = false;
  loop.forEach((to, place) => {
    const from = loop.at(place - 1);
    const crosses = from.y > y !== to.y > y && x < ((from.x - to.x) * (y - to.y)) / (from.y - to.y) + to.x;
    if (crosses) inside = !inside;
  });
  return inside;
}
