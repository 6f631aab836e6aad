// Mouse, fingers, wheel and keys on the map: they move the view, set the focus, choose a point or draw the lasso.

const STILL = 6; // pixels a press may tremble and still be a click
const PAN = 60; // pixels a key moves the map
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const apart = ([x, y], [u, v]) => Math.hypot(x - u, y - v);

export class Gestures {
  lassoing = false;
  #pointers = new Map(); // where each finger was last
  #press = null; // where a press began that may become a click

  // `on` has pick(point) and select(points).
  constructor(plane, on) {
    Object.assign(this, { plane, on });
    const listen = (name, act) => plane.canvas.addEventListener(name, act, { passive: false });
    listen("pointerdown", (event) => this.#down(event));
    listen("pointermove", (event) => this.#move(event));
    listen("pointerup", (event) => this.#up(event));
    listen("pointercancel", (event) => this.#end(event));
    // A finger leaves whenever it is lifted; what it touched stays shown.
    listen("pointerleave", (event) => event.buttons || event.pointerType === "touch" || plane.focusOn(null));
    listen("wheel", (event) => this.#wheel(event));
    listen("keydown", (event) => this.#key(event));
    listen("blur", () => plane.focusOn(null));
  }

  #at(event) {
    const frame = this.plane.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  #down(event) {
    const at = this.#at(event);
    this.plane.canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, at);
    const alone = this.#pointers.size === 1; // a second finger makes it a pinch
    const lasso = alone && (this.lassoing || event.shiftKey);
    this.#press = alone ? at : null;
    this.plane.loop = lasso ? [this.plane.toWorld(...at)] : null;
    if (lasso) this.plane.focusOn(null);
  }

  #move(event) {
    const at = this.#at(event);
    const before = this.#pointers.get(event.pointerId);
    if (!before) {
      this.plane.focusOn(this.plane.nearest(...at));
      this.plane.canvas.classList.toggle("over", this.plane.focus !== null);
      return;
    }
    this.#pointers.set(event.pointerId, at);
    if (this.#pointers.size > 1) this.#pinch(event.pointerId, before, at);
    else if (this.plane.loop) this.#lengthen(at);
    else this.#drag(event.pointerId, before, at);
  }

  #pinch(moving, before, at) {
    const [, other] = [...this.#pointers].find(([pointer]) => pointer !== moving);
    const span = (one) => Math.max(10, apart(one, other));
    this.plane.zoom(span(at) / span(before), other);
  }

  #lengthen(at) {
    this.plane.loop.push(this.plane.toWorld(...at));
    this.plane.paint();
  }

  #drag(pointer, before, at) {
    if (this.#press && apart(at, this.#press) < STILL) {
      this.#pointers.set(pointer, before); // so that nothing is lost once it becomes a drag
      return;
    }
    this.#press = null;
    this.plane.shift(at[0] - before[0], at[1] - before[1]);
  }

  #up(event) {
    const { loop } = this.plane;
    const isClick = this.#press && apart(this.#at(event), this.#press) < STILL;
    this.#end(event);
    if (loop?.length > 2) this.on.select(this.plane.points.filter((point) => isInside(point, loop)));
    else if (isClick) this.#click(this.plane.nearest(...this.#at(event)), event.pointerType);
  }

  #end(event) {
    this.#pointers.delete(event.pointerId);
    this.#press = null;
    this.plane.loop = null;
    this.plane.paint();
  }

  // A finger hides what it touches: the first touch shows the picture, the second searches.
  #click(point, kind) {
    const ready = kind !== "touch" || point === this.plane.focus;
    this.plane.focusOn(point);
    if (point && ready) this.on.pick(point);
  }

  #wheel(event) {
    event.preventDefault();
    this.plane.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), this.#at(event));
  }

  #key(event) {
    const { plane } = this;
    const arrow = ARROWS[event.key];
    if (arrow && event.shiftKey) plane.shift(-PAN * arrow[0], -PAN * arrow[1]);
    else if (arrow) plane.focusNext(arrow);
    else if (event.key === "+" || event.key === "=") plane.zoom(1.4);
    else if (event.key === "-") plane.zoom(1 / 1.4);
    else if (event.key === "0") plane.reset();
    else if (event.key === "Enter" && plane.focus) this.on.pick(plane.focus);
    else if (event.key === "Escape") this.on.select([]);
    else return;
    event.preventDefault();
  }
}

// Even or odd: how often a ray from the point crosses the loop.
function isInside({ x, y }, loop) {
  let inside = false;
  loop.forEach((to, place) => {
    const from = loop.at(place - 1);
    const level = from.y > y !== to.y > y;
    if (level && x < ((from.x - to.x) * (y - to.y)) / (from.y - to.y) + to.x) inside = !inside;
  });
  return inside;
}
