/** Names beside marks, as many as fit: none lies on another or on a mark. */

import { svg } from "./dom.js";
import { short } from "./words.js";

const SIZE = 11; // pixels of a letter's height
const WIDTH = 6.6; // pixels of a letter's width, generously
const LETTERS = 18;
const MOST = 14;
const CORNER = 1.25; // how far a mark may reach beyond the circle of its area

/**
 * Text elements for the largest marks.
 * @param {import("./types.js").Dot[]} dots
 * @param {[number, number][]} places
 * @param {number[]} radii
 * @param {number[]} order positions, the largest mark first
 * @param {{frame: import("./frame.js").Frame, colours: Record<string, string>}} how
 */
export function labelled(dots, places, radii, order, how) {
  const [width, height] = how.frame.size;
  const taken = places.map(([x, y], k) => box(x, y, CORNER * radii[k] + 1, CORNER * radii[k] + 1));
  const made = [];
  for (const k of [0, ...order.filter((each) => each !== 0)]) {
    if (made.length === MOST) break;
    const text = short(dots[k].title ?? dots[k].id, LETTERS);
    const half = (text.length * WIDTH) / 2 + 3; // and a gap to the next
    const [x, y] = places[k], reach = CORNER * radii[k];
    const spot = [[0, 1], [0, -1], [1, 0], [-1, 0]]
      .map(([dx, dy]) => box(x + dx * (reach + half), y + dy * (reach + SIZE), half, SIZE / 2 + 1))
      .find((each) => inside(each, width, height) && !taken.some((other) => meet(each, other))
        && belongs(each, k, places, radii));
    if (!spot) continue;
    taken.push(spot);
    made.push(svg("text", {
      x: ((spot.left + spot.right) / 2).toFixed(1), y: ((spot.top + spot.bottom) / 2).toFixed(1), class: "name",
      "text-anchor": "middle", "dominant-baseline": "central", "font-size": SIZE,
      "font-weight": k === 0 ? 700 : 400, fill: how.colours.ink, stroke: how.colours.surface,
      "stroke-width": 3, "stroke-linejoin": "round", "paint-order": "stroke",
    }, text));
  }
  return made;
}

/** Whether no other mark is nearer to a label than its own: else a reader would take it for that. */
function belongs(label, own, places, radii) {
  const gap = (k) => {
    const [x, y] = places[k];
    const dx = Math.max(label.left - x, 0, x - label.right), dy = Math.max(label.top - y, 0, y - label.bottom);
    return Math.hypot(dx, dy) - radii[k];
  };
  const mine = gap(own);
  return places.every((_, k) => k === own || gap(k) > mine + 1);
}

function box(x, y, halfWidth, halfHeight) {
  return { left: x - halfWidth, right: x + halfWidth, top: y - halfHeight, bottom: y + halfHeight };
}

function meet(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function inside(a, width, height) {
  return a.left >= 2 && a.right <= width - 2 && a.top >= 2 && a.bottom <= height - 2;
}
