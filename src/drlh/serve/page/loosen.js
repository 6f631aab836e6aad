// Items with one code lie on each other, and a dot does not say how many it is: points too close push each other away.

const GAP = 0.011; // between two points, as a share of the map
const ROUNDS = 30;
const GOLDEN = 2.39996; // an angle at which no point hides another

export function loosen(points) {
  // Points on the very same place know no direction to go: each starts a little aside.
  const placed = points.map((point, number) => {
    const aside = 0.02 * GAP * Math.sqrt(number);
    return { ...point, x: point.x + aside * Math.cos(number * GOLDEN), y: point.y + aside * Math.sin(number * GOLDEN) };
  });
  for (let round = 0; round < ROUNDS; round++) if (!pushOnce(placed)) break;
  return fit(placed);
}

// Back to 0…1 where points were pushed over the edge; both axes alike, so that distances stay comparable.
function fit(points) {
  const [low, high] = points.reduce(
    ([least, most], { x, y }) => [Math.min(least, x, y), Math.max(most, x, y)], [0, 1]);
  const inside = (value) => (value - low) / (high - low);
  return points.map((point) => ({ ...point, x: inside(point.x), y: inside(point.y) }));
}

// Whether anything moved. Only points in neighbouring cells can be too close.
function pushOnce(points) {
  const cells = new Map();
  let moved = false;
  for (const point of points) {
    const [column, row] = [Math.floor(point.x / GAP), Math.floor(point.y / GAP)];
    for (let near = 0; near < 9; near++) {
      const others = cells.get(`${column - 1 + (near % 3)}/${row - 1 + Math.floor(near / 3)}`) ?? [];
      for (const other of others) moved = part(point, other) || moved;
    }
    const cell = `${column}/${row}`;
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell).push(point);
  }
  return moved;
}

function part(one, other) {
  const [dx, dy] = [one.x - other.x, one.y - other.y];
  const far = Math.hypot(dx, dy);
  if (far >= GAP || far === 0) return false;
  const push = (0.5 * (GAP - far)) / far;
  one.x += dx * push;
  one.y += dy * push;
  other.x -= dx * push;
  other.y -= dy * push;
  return true;
}
