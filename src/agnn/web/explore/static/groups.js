/** A hub in groups: the target, and beside it one mark for each group or single node that matters. */

import { svg } from "./dom.js";
import { short } from "./words.js";

const MOST = 12; // lines that fit
const TARGET = 0.1, MARKS = 0.27, WORDS = 0.36; // in widths of the picture
const LETTER = 6.6; // pixels of a letter's width, generously

/**
 * The lines of a hub through a lens, the largest value first; null where single nodes are drawn.
 * @param {import("./types.js").Side} side
 * @param {import("./types.js").Look} look
 * @param {number} view
 * @returns {import("./types.js").Line[]|null}
 */
export function groupsOf(side, look, view) {
  const { why } = side;
  if (!side.is_hub || !why) return null;
  const lines = {
    contribution: () => why.steps.filter((step) => step.nodes && step.kind !== "itself"),
    attention: () => (view ? [] : side.attention_groups),
    removal: () => side.nodes.map((dot, k) => ({ name: dot.title ?? dot.id, value: look.value[k], node: dot.index }))
      .filter((line, k) => k && line.value !== null),
  }[look.lens]();
  const largest = [...lines].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, MOST);
  return largest.length ? largest.sort((a, b) => b.value - a.value) : null;
}

/**
 * The picture of a hub; `mark` draws a single node as elsewhere.
 * @returns {SVGGElement}
 */
export function drawnGroups(side, how, mark) {
  const { look, colours, frame } = how, [width, height] = frame.size, lines = look.groups;
  const row = height / (lines.length + 1), widest = Math.min(0.08 * width, 0.45 * row);
  const largest = Math.max(...lines.map(({ value }) => Math.abs(value)), Math.abs(look.value[0] ?? 0), 1e-12);
  const size = (value) => Math.max(3.5, widest * Math.sqrt(Math.abs(value) / largest));
  const target = [TARGET * width, height / 2];
  const single = new Map(side.nodes.map((dot, k) => [dot.index, k]));
  const rows = lines.map((line, number) => {
    const place = /** @type {[number, number]} */ ([MARKS * width, (number + 1) * row]), k = single.get(line.node);
    const radius = size(line.value), value = look.shown(line.value);
    const name = short(line.name, Math.floor(((1 - WORDS) * width) / LETTER) - value.length - 1);
    return svg("g", {},
      svg("line", { x1: target[0], y1: target[1], x2: place[0], y2: place[1], stroke: colours.line, "stroke-width": 1.2 }),
      k ? mark(side.nodes[k], k, place, radius, how) : rims(line, value, place, radius, how),
      svg("text", {
        x: WORDS * width, y: place[1], class: "name", "dominant-baseline": "central", "font-size": 12,
        fill: colours.ink, "aria-hidden": "true", "pointer-events": "none",
      }, svg("tspan", { "font-weight": 700 }, value), svg("tspan", { dx: 6 }, name)));
  });
  const middle = [width / 2, height / 2], shift = frame.shift.map((each, k) => each + middle[k]);
  return svg("g", { transform: `translate(${shift.join(" ")}) scale(${frame.zoom}) translate(${middle.map((each) => -each).join(" ")})` },
    ...rows, mark(side.nodes[0], 0, target, Math.max(8, size(look.value[0] ?? 0)), how));
}

/** A mark with a second rim: it stands for many. */
function rims(line, value, [x, y], radius, { look, colours }) {
  const sign = look.lens === "attention" ? "line" : ["against", "neutral", "for"][look.signOf(line.value) + 1];
  const rim = (right) => svg("circle", { cx: x + right, cy: y, r: radius, fill: colours[sign], stroke: colours.surface, "stroke-width": 1.5 });
  return svg("g", { role: "img", "aria-label": `${line.name}: ${value}`, class: "group" }, rim(4), rim(0));
}
