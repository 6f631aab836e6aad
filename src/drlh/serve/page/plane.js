// Points in a plane on a canvas: what of it is seen, which point has the focus, and how it is painted.
import { colourName, outline, plainColour } from "./palette.js";

const FARTHEST = 40; // times
const REACH = 14; // pixels from the pointer to a point
const EDGE = 16; // pixels around all points

export class Plane {
  points = [];
  selected = null; // a set of points, or null
  only = null; // the number of the one class that is shown strongly, or null
  focus = null;
  loop = null; // of the lasso while it is drawn
  #view = { scale: 1, x: 0.5, y: 0.5 }; // what lies in the middle
  #waiting = false;

  // `onfocus` hears of the point that has the focus, also when the point moves on the screen.
  constructor(canvas, onfocus) {
    Object.assign(this, { canvas, onfocus });
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  // Points: { x, y (both in 0…1), class: number, … }.
  show(points) {
    this.points = points;
    this.paint();
  }

  zoom(times, [x, y] = this.#middle()) {
    const kept = this.toWorld(x, y);
    const scale = Math.min(FARTHEST, Math.max(1, this.#view.scale * times));
    const share = this.#view.scale / scale; // what lies under the pointer stays there
    const middle = (axis) => kept[axis] + (this.#view[axis] - kept[axis]) * share;
    this.#look({ scale, x: middle("x"), y: middle("y") });
  }

  shift(dx, dy) {
    const size = this.#size();
    this.#look({ ...this.#view, x: this.#view.x - dx / size, y: this.#view.y - dy / size });
  }

  reset() {
    this.#look({ scale: 1, x: 0.5, y: 0.5 });
  }

  // Pixels of a point on the canvas, and back.
  place({ x, y }) {
    const [mx, my] = this.#middle();
    const size = this.#size();
    return [mx + (x - this.#view.x) * size, my + (y - this.#view.y) * size];
  }

  toWorld(x, y) {
    const [mx, my] = this.#middle();
    const size = this.#size();
    return { x: this.#view.x + (x - mx) / size, y: this.#view.y + (y - my) / size };
  }

  isVisible(point) {
    const [x, y] = this.place(point);
    return x >= 0 && y >= 0 && x <= this.canvas.clientWidth && y <= this.canvas.clientHeight;
  }

  nearest(x, y) {
    let [best, least] = [null, REACH ** 2];
    for (const point of this.#reachable()) {
      const [px, py] = this.place(point);
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far <= least) [best, least] = [point, far];
    }
    return best;
  }

  focusOn(point) {
    if (point === this.focus) return;
    this.focus = point;
    this.onfocus(point);
    this.paint();
  }

  // The next point in a direction, where ahead counts once and aside twice; the first is the one in the middle.
  focusNext([dx, dy]) {
    const [x, y] = this.focus ? this.place(this.focus) : this.#middle();
    let [best, least] = [null, Infinity];
    for (const point of this.#reachable()) {
      const [px, py] = this.place(point);
      const ahead = (px - x) * dx + (py - y) * dy;
      const aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      const cost = this.focus ? ahead + 2 * aside : Math.abs(ahead) + aside;
      if ((ahead > 0.5 || !this.focus) && cost < least) [best, least] = [point, cost];
    }
    if (!best) return;
    this.focusOn(best);
    if (!this.isVisible(best)) this.#look({ ...this.#view, x: best.x, y: best.y });
  }

  // Once a frame, however often it is asked for.
  paint() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.#paintNow();
    });
  }

  #reachable() {
    return this.only === null ? this.points : this.points.filter((point) => point.class === this.only);
  }

  #middle() {
    return [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
  }

  #size() {
    return this.#view.scale * (Math.min(this.canvas.clientWidth, this.canvas.clientHeight) - 2 * EDGE);
  }

  #look({ scale, x, y }) {
    const inside = (value) => Math.min(1, Math.max(0, value));
    this.#view = { scale, x: inside(x), y: inside(y) };
    this.onfocus(this.focus);
    this.paint();
  }

  #paintNow() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    const dense = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * dense);
    this.canvas.height = Math.round(height * dense);
    const pen = this.canvas.getContext("2d");
    pen.scale(dense, dense);
    const room = Math.min(1.3, Math.max(0.75, Math.min(width, height) / 500));
    const radius = Math.min(9, (2.4 + this.#view.scale ** 0.5) * room);
    for (const number of new Set(this.points.map((point) => point.class))) this.#paintClass(pen, number, radius);
    if (this.focus) this.#paintFocus(pen, radius);
    if (this.loop) this.#paintLoop(pen);
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
    for (const point of this.loop) pen.lineTo(...this.place(point));
    pen.closePath();
    pen.strokeStyle = pen.fillStyle = plainColour("--flip");
    pen.lineWidth = 2;
    pen.setLineDash([6, 4]);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 0.1;
    pen.fill();
    pen.globalAlpha = 1;
  }
}
