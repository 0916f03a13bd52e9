/** The whole state of the page in the part of its address behind the #. */

import { LENSES } from "./lens.js";

/**
 * @typedef {{node: string, view: string, colour: string, cohort: string, lens: string, hops: number, limit: number, single: boolean, layer: number, replica: number|null, coverage: number,
 *   without: [number, number][], added: [number, number][], dropped: [number, number][], betas: number[]|null,
 *   cell: [number, number, number, number]|null}} State
 * `single`: a hub is drawn as single nodes, not in groups; `layer` 0 is all layers together; `without` and `added` are edges as index pairs, `dropped` pairs of a
 * node and a feature; `cell` is run, layer, receiving
 * class, sending class of the heat map.
 */

/** @type {State} */
export const START = {
  node: "", view: "map", colour: "prediction", cohort: "", lens: "contribution", hops: 2, limit: 60, single: false, layer: 0, replica: null, coverage: 0.9, without: [], added: [], dropped: [], betas: null, cell: null,
};

const COLOURS = ["prediction", "truth", "error", "confidence", "disagreement", "split"];
export const COVERAGES = [0.8, 0.9, 0.95, 0.99]; // of prediction sets
export const MORE = 60; // nodes that one asks for at a time
export const MOST = 600; // that the server shows

/**
 * The state that a link carries; what it does not say, or says wrongly, is as at the start.
 * @param {string} hash
 * @returns {State}
 */
export function readLink(hash) {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const betas = said.get("betas") ?? "";
  const oneOf = (key, values) => (values.includes(said.get(key)) ? String(said.get(key)) : START[key]);
  const number = (key, low, high, other) => {
    const text = said.get(key) ?? "";
    const value = Number(text);
    return /^\d+$/.test(text) && value >= low && value <= high ? value : other;
  };
  return {
    node: said.get("node") ?? START.node,
    view: said.get("view") === "map" || !said.get("node") ? "map" : "node",
    colour: oneOf("colour", COLOURS),
    cohort: said.get("cohort") ?? START.cohort,
    lens: oneOf("lens", LENSES),
    hops: number("hops", 1, 8, START.hops),
    limit: number("limit", 1, MOST, START.limit),
    single: said.get("single") === "true",
    layer: number("layer", 0, 99, START.layer),
    replica: number("replica", 0, 9999, null),
    coverage: COVERAGES.find((each) => String(each) === said.get("coverage")) ?? START.coverage,
    without: numbers(said.get("without"), 2),
    added: numbers(said.get("with"), 2),
    dropped: numbers(said.get("drop"), 2),
    betas: /^-?\d+(\.\d+)?(,-?\d+(\.\d+)?)*$/.test(betas) ? betas.split(",").map(Number) : null,
    cell: numbers(said.get("cell"), 4)[0] ?? null,
  };
}

/**
 * The link of a state.
 * @param {State} state
 * @returns {string}
 */
export function writeLink(state) {
  const said = new URLSearchParams(state.node ? { node: state.node } : {});
  if (state.node && state.view === "map") said.set("view", "map");
  for (const key of ["colour", "cohort", "lens", "hops", "limit", "single", "layer", "replica", "coverage"]) {
    if (state[key] !== START[key]) said.set(key, String(state[key]));
  }
  for (const [key, words] of Object.entries(changesOf(state))) if (words) said.set(key, words);
  if (state.cell) said.set("cell", state.cell.join("-"));
  return `#${said}`;
}

/**
 * What is seen otherwise than trained, as the server and the link write it; null where nothing is.
 * @param {State} state
 */
export function changesOf(state) {
  const written = (pairs) => pairs.map((pair) => pair.join("-")).join(",") || null;
  return {
    without: written(state.without), with: written(state.added), drop: written(state.dropped),
    betas: state.betas?.join(",") ?? null,
  };
}

/** Lists such as 12-40,12-77: groups of `size` numbers; other groups are left out. */
function numbers(text, size) {
  return (text ?? "")
    .split(",")
    .filter((group) => /^\d+(-\d+)*$/.test(group))
    .map((group) => /** @type {any} */ (group.split("-").map(Number)))
    .filter((group) => group.length === size);
}
