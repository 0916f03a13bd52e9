/** A neighbourhood as SVG, in the manner of the paper's figure 2. */

import { svg } from "./dom.js";
import { drawnGroups } from "./groups.js";
import { labelled } from "./labels.js";
import { percent } from "./words.js";

/** @typedef {import("./types.js").Side} Side */
/** @typedef {import("./types.js").Dot} Dot */

export const STAR = "M0-1 .225-.309.951-.309.363.118.588.809 0 .382-.588.809-.363.118-.951-.309-.225-.309Z";
const NUMBERED = 12; // pixels of a radius from which on a mark holds its number
const HIT = 12; // pixels around a small mark that still meet it: a finger needs 24

/**
 * The colours of the page now, light or dark; those of an element that is always light for a file.
 * @param {Element} [element]
 */
export function inks(element = document.documentElement) {
  const style = getComputedStyle(element);
  const names = ["surface", "ink", "faint", "line", "outline", "target", "alarm", "for", "against", "neutral", "for-ink", "against-ink"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * The picture of a side, as a group of elements that need no style sheet.
 * @param {Side} side
 * @param {{frame: import("./frame.js").Frame, look: import("./types.js").Look, marks: import("./types.js").Mark[],
 *   gone: Set<string>, added: Set<string>, colours: Record<string, string>}} how
 * @returns {SVGGElement}
 */
export function drawn(side, how) {
  if (how.look.groups) return drawnGroups(side, how, node);
  const places = side.nodes.map((dot) => how.frame.at(dot.place));
  const radii = how.look.radius.map((radius) => how.frame.radius(radius));
  const order = side.nodes.map((_, k) => k).sort((a, b) => radii[b] - radii[a]);
  // The nodes that matter most are named first, also where marks have their least size.
  const size = (k) => Math.abs(how.look.value[k] ?? 0);
  const named = side.nodes.map((_, k) => k).sort((a, b) => size(b) - size(a));
  return svg(
    "g",
    { "font-family": "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif" },
    svg("g", { "aria-hidden": "true" }, ...links(side, how, places)),
    svg("g", {}, ...order.map((k) => node(side.nodes[k], k, places[k], radii[k], how))),
    svg("g", { "aria-hidden": "true", "pointer-events": "none" },
      ...labelled(side.nodes, places, radii, named, how)),
  );
}

function links(side, how, places) {
  const { colours, look } = how;
  const heaviest = Math.max(...look.weight, 1e-9);
  const widest = Math.max(3, 6 * Math.min(1, Math.sqrt(40 / Math.max(side.links.length, 1))));
  const hue = { "-1": colours.against, 0: colours.line, 1: colours.for };
  return side.links.flatMap((link, k) => {
    const [a, b] = link.ends;
    const [x1, y1] = places[a], [x2, y2] = places[b];
    const key = pairKey(side.nodes[a].index, side.nodes[b].index);
    const isGone = how.gone.has(key), isNew = how.added.has(key);
    const weight = Math.sqrt(look.weight[k] / heaviest);
    const line = svg("line", {
      x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1),
      stroke: isGone ? colours.alarm : hue[look.way[k]],
      "stroke-width": isGone ? 2 : (0.7 + widest * weight).toFixed(2),
      "stroke-opacity": isGone ? 1 : (0.3 + 0.6 * weight).toFixed(2),
      "stroke-dasharray": isGone ? "5 5" : isNew ? "12 4" : null, "stroke-linecap": isNew ? "butt" : "round",
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
  const { marks, colours, look } = how;
  // Without a label the mark is that of the prediction, left empty.
  const isKnown = dot.label >= 0, isSigned = look.lens !== "attention";
  const mark = marks[isKnown ? dot.label : dot.answer];
  const isTarget = k === 0;
  const group = svg("g", {
    class: "dot", "data-dot": k, "data-node": dot.index, role: "button", tabindex: isTarget ? 0 : -1, opacity: dot.is_gone ? 0.5 : null,
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, "aria-label": spoken(dot, k, how),
  });
  // Where the sign is the message it has the colour, and the class only the shape.
  const sign = ["against", "neutral", "for"][look.sign[k] + 1];
  const hue = isSigned ? colours[sign] : mark.colour;
  const ink = !isKnown ? colours.ink : !isSigned ? mark.ink : colours[`${sign}-ink`] || colours.ink;
  group.append(
    svg("circle", { r: Math.max(radius, HIT).toFixed(1), fill: "transparent" }),
    svg("path", {
      d: mark.shape, transform: `scale(${radius.toFixed(2)})`, "vector-effect": "non-scaling-stroke",
      fill: isKnown ? hue : colours.surface,
      stroke: isTarget ? colours.target : isKnown ? colours.outline : hue,
      "stroke-width": isTarget ? 3.5 : isKnown ? 1 : 2.5, "stroke-linejoin": "round",
    }),
  );
  if (dot.is_train) group.append(star(radius, colours));
  if (radius >= (isSigned ? 1.25 : 1) * NUMBERED) group.append(number(look.number[k], radius, ink));
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

function number(text, radius, ink) {
  return svg("text", {
    "text-anchor": "middle", "dominant-baseline": "central", fill: ink,
    "font-size": Math.min(14, (1.9 * radius) / Math.max(text.length, 2.6)).toFixed(1), "font-weight": 600,
    "pointer-events": "none", "aria-hidden": "true",
  }, text);
}

function spoken(dot, k, how) {
  const name = (label) => how.marks.at(label).name;
  const words = [
    dot.title ?? dot.id,
    dot.label >= 0 ? name(dot.label) : "no label",
    `prediction ${name(dot.answer)} ${percent(dot.confidence)}`,
    how.look.words[k],
  ];
  if (dot.is_train) words.push("training node");
  if (dot.is_gone) words.push("its edge is removed");
  return (dot.hop ? words : ["Target", ...words]).join(", ");
}
