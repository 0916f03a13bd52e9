/** Three ways to look at the same neighbourhood: what a node adds, whom the model reads, what a removal does. */

import { pairKey } from "./drawing.js";
import { percent, signed } from "./words.js";

/** @typedef {import("./types.js").Side} Side */

export const LENSES = ["contribution", "attention", "removal"];

const NAMES = { contribution: "Contribution", attention: "Attention", removal: "Removal" };
const LARGEST = 0.5; // radius of the largest effect of a removal, an edge being 1 long
const LEAST = 0.06;

/** @param {string} lens */
export const lensName = (lens) => NAMES[lens];

/** Percentage points with a sign. @param {number|null} value */
export const points = (value) =>
  value === null ? "–" : `${value < -0.0005 ? "−" : "+"}${(100 * Math.abs(value)).toFixed(1)}`;

/**
 * What a side looks like through a lens: by node its value, radius, sign (1, -1, or 0), the number
 * in its mark and the words for it.
 * @param {string} lens
 * @param {Side} side
 * @param {number} view
 * @param {(number|null)[] | undefined} effects of removing each node's edge towards the target
 * @returns {import("./types.js").Look}
 */
export function seen(lens, side, view, effects) {
  if (lens === "attention") {
    const value = side.nodes.map((dot) => dot.share[view]);
    return {
      lens, value, radius: side.nodes.map((dot) => dot.radius[view]), sign: value.map(() => 0), signOf: () => 0, shown: percent,
      number: value.map((each) => (100 * each).toFixed(0)),
      words: value.map((each) => `${percent(each)} of the attention`),
      weight: side.links.map((link) => link.crossing[view]), way: side.links.map(() => 0),
    };
  }
  const isAdded = lens === "contribution";
  const value = isAdded ? side.nodes.map((dot) => dot.contribution) : side.nodes.map((_, k) => effects?.[k] ?? null);
  const most = Math.max(...value.map((each) => Math.abs(each ?? 0)), 1e-9);
  const signOf = (each) => (Math.abs(each ?? 0) < (isAdded ? 0.005 : 0.0005) ? 0 : Math.sign(each ?? 0));
  const sign = value.map(signOf);
  const child = side.links.map((link) => inward(side, link));
  return {
    lens, value, sign, signOf, shown: isAdded ? signed : points,
    radius: isAdded ? side.nodes.map((dot) => dot.radius[dot.radius.length - 1])
      : value.map((each) => Math.max(LEAST, LARGEST * Math.sqrt(Math.abs(each ?? 0) / most))),
    number: value.map((each) => (each === null ? "" : isAdded ? signed(each) : points(each))),
    words: value.map((each, k) => (isAdded ? `adds ${signed(each)}` : removedWords(each, k))),
    weight: child.map((k) => (k < 0 ? 0 : Math.abs(value[k] ?? 0))),
    way: child.map((k) => (k < 0 ? 0 : sign[k])),
  };
}

const removedWords = (value, k) =>
  k === 0 ? "the target" : value === null ? "removal not tried"
    : `without its edge ${points(-value)} points for the prediction`;

/** The node whose edge towards the target a link is; -1 for other links. */
function inward(side, link) {
  const [a, b] = link.ends;
  return side.nodes[b].parent === a ? b : side.nodes[a].parent === b ? a : -1;
}

/** The pairs of indices whose removal the third lens tries, in the order of their importance. */
export function trials(side) {
  const order = side.nodes.map((_, k) => k).slice(1).filter((k) => !side.nodes[k].is_gone)
    .sort((a, b) => Math.abs(side.nodes[b].contribution) - Math.abs(side.nodes[a].contribution));
  return order.map((k) => [side.nodes[k].index, side.nodes[side.nodes[k].parent].index]);
}

/** The effects by position in the side, from the server's answer to these pairs. */
export function byNode(side, pairs, effects) {
  const known = new Map(pairs.map((pair, k) => [pairKey(...pair), effects[k]]));
  return side.nodes.map((dot, k) =>
    k === 0 ? null : known.get(pairKey(dot.index, side.nodes[dot.parent].index)) ?? null);
}

/**
 * What areas and colours mean, in a sentence.
 * @param {string} lens
 * @param {string[]} classes the predicted class and the second
 */
export function lensNote(lens, [first, second]) {
  if (lens === "attention") return "Area and number: percent of the attention over all paths. It says where the model looks, not what decides.";
  if (lens === "contribution") return `Area and number: what the node adds to the lead of ${first} over ${second}, as a difference of logits.`;
  return `Area and number: by how many points ${first} falls without the node's edge towards the target; computed anew.`;
}
