/** A neighbourhood as SVG, in the manner of the paper's figure 2. */

import { svg } from "./dom.js";
import { labelled } from "./labels.js";
import { percent } from "./words.js";

/** @typedef {import("./questions.js").Side} Side */
/** @typedef {import("./questions.js").Dot} Dot */

const STAR = "M0-1 .225-.309.951-.309.363.118.588.809 0 .382-.588.809-.363.118-.951-.309-.225-.309Z";
const NUMBERED = 12; // pixels of a radius from which on a mark holds its number
const HIT = 8; // pixels around a small mark that still meet it

/** The colours of the page now, light or dark. */
export function inks() {
  const style = getComputedStyle(document.documentElement);
  const names = ["surface", "ink", "faint", "line", "outline", "target", "alarm"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * The picture of a side, as a group of elements that need no style sheet.
 * @param {Side} side
 * @param {{frame: import("./frame.js").Frame, view: number, marks: import("./questions.js").Mark[],
 *   gone: Set<string>, colours: Record<string, string>}} how
 * @returns {SVGGElement}
 */
export function drawn(side, how) {
  const places = side.nodes.map((dot) => how.frame.at(dot.place));
  const radii = side.nodes.map((dot) => how.frame.radius(dot.radius[how.view]));
  const order = side.nodes.map((_, k) => k).sort((a, b) => radii[b] - radii[a]);
  return svg(
    "g",
    { "font-family": "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif" },
    svg("g", { "aria-hidden": "true" }, ...links(side, how, places)),
    svg("g", {}, ...order.map((k) => node(side.nodes[k], k, places[k], radii[k], how))),
    svg("g", { "aria-hidden": "true", "pointer-events": "none" },
      ...labelled(side.nodes, places, radii, order, how)),
  );
}

function links(side, how, places) {
  const { colours, view } = how;
  const heaviest = Math.max(...side.links.map((link) => link.crossing[view]), 1e-9);
  const widest = 5.5 * Math.min(1, Math.sqrt(40 / Math.max(side.links.length, 1)));
  return side.links.flatMap((link, k) => {
    const [a, b] = link.ends;
    const [x1, y1] = places[a], [x2, y2] = places[b];
    const isGone = how.gone.has(pairKey(side.nodes[a].index, side.nodes[b].index));
    const weight = Math.sqrt(link.crossing[view] / heaviest);
    const line = svg("line", {
      x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1),
      stroke: isGone ? colours.alarm : colours.line,
      "stroke-width": isGone ? 2 : (0.8 + widest * weight).toFixed(2),
      "stroke-opacity": isGone ? 1 : (0.35 + 0.55 * weight).toFixed(2),
      "stroke-dasharray": isGone ? "5 5" : null, "stroke-linecap": "round",
    });
    const hit = svg("line", {
      x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1),
      stroke: "transparent", "stroke-width": 11, "data-link": k, class: "hit",
    });
    return [line, hit];
  });
}

/** An edge's name whichever way round. */
export function pairKey(first, second) {
  return first < second ? `${first}-${second}` : `${second}-${first}`;
}

function node(dot, k, [x, y], radius, how) {
  const { marks, colours, view } = how;
  // Without a label the mark is that of the answer, left empty.
  const isKnown = dot.label >= 0;
  const mark = marks[isKnown ? dot.label : dot.answer];
  const isTarget = k === 0;
  const group = svg("g", {
    class: "dot", "data-dot": k, "data-node": dot.index, role: "button", tabindex: isTarget ? 0 : -1,
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, "aria-label": spoken(dot, how),
  });
  group.append(
    svg("circle", { r: Math.max(radius, HIT).toFixed(1), fill: "transparent" }),
    svg("path", {
      d: mark.shape, transform: `scale(${radius.toFixed(2)})`, "vector-effect": "non-scaling-stroke",
      fill: isKnown ? mark.colour : colours.surface,
      stroke: isTarget ? colours.target : isKnown ? colours.outline : mark.colour,
      "stroke-width": isTarget ? 3.5 : isKnown ? 1 : 2.5, "stroke-linejoin": "round",
    }),
  );
  if (dot.is_train) group.append(star(radius, colours));
  if (radius >= NUMBERED) group.append(number(dot.share[view], radius, isKnown ? mark.ink : colours.ink));
  return group;
}

/** Beside the mark, for a star must not hide the colour of a small one. */
function star(radius, colours) {
  const beside = (0.72 * radius + 4).toFixed(1);
  return svg("path", {
    d: STAR, class: "star", transform: `translate(${beside} -${beside}) scale(7)`,
    fill: colours.ink, stroke: colours.surface, "stroke-width": 0.22, "paint-order": "stroke",
  });
}

function number(share, radius, ink) {
  return svg("text", {
    "text-anchor": "middle", "dominant-baseline": "central", fill: ink,
    "font-size": Math.min(14, 0.72 * radius).toFixed(1), "font-weight": 600,
    "pointer-events": "none", "aria-hidden": "true",
  }, (100 * share).toFixed(0));
}

function spoken(dot, how) {
  const name = (label) => how.marks.at(label).name;
  const words = [
    dot.id,
    dot.label >= 0 ? name(dot.label) : "no label",
    `answer ${name(dot.answer)} ${percent(dot.confidence)}`,
    `${percent(dot.share[how.view])} of what reaches the target`,
  ];
  if (dot.is_train) words.push("training node");
  return (dot.hop ? words : ["Target", ...words]).join(", ");
}
