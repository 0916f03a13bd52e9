/** What stands below the picture: how much is shown, and what the marks mean. */

import { dotOf } from "./answers.js";
import { at, button, html } from "./dom.js";
import { lensNote } from "./lens.js";
import { MORE, MOST } from "./link.js";
import { counted, percent } from "./words.js";

/** @typedef {import("./types.js").Side} Side */

/**
 * How many nodes are shown and how many are not, with a way to more of them.
 * @param {import("./types.js").Page} page
 * @param {Side[]} sides
 * @param {import("./types.js").Look[]} looks
 */
export function showRest(page, sides, looks) {
  const { runs } = page.about;
  const words = sides.map((side, k) => (runs.length > 1 ? `${runs[k].title}: ` : "") + sizeOf(side, page.state.hops, looks[k]));
  at("rest").textContent = words.join(" ");
  const isGrouped = looks.some((look) => look.groups);
  at("near-title").textContent = isGrouped ? "Single nodes" : "Nodes in the picture";
  if (isGrouped || (page.state.single && sides.some((side) => side.is_hub))) {
    at("rest").append(" ", button(isGrouped ? "Show single nodes" : "Show groups", () => page.single(isGrouped), { id: "grouping" }));
  }
  if (isGrouped) return;
  const rest = Math.max(...sides.map((side) => side.left_out));
  if (rest && page.state.limit < MOST && !page.about.shared) {
    at("rest").append(" ", button(`Show ${Math.min(MORE, rest)} more`, page.more, { id: "more" }));
  }
}

function sizeOf(side, hops, look) {
  if (look.groups && look.lens === "removal") return "The removals that were tried, those with the largest effect.";
  if (look.groups) return `${counted(side.why.steps.reduce((sum, step) => sum + step.nodes, -1), "other node")} that reach it, drawn in groups.`;
  const near = side.elsewhere - side.farther;
  const rest = side.left_out
    ? `, ${side.left_out.toLocaleString("en")} less important not (${percent(Math.max(near, 0))} of the attention)` : "";
  const far = side.farther >= 0.005
    ? `; ${percent(side.farther)} of the attention goes farther than ${counted(hops, "hop")}` : "";
  return `${counted(side.nodes.length, "node")} shown${rest}${far}.`;
}

/**
 * The classes that occur and what else a mark can have.
 * @param {import("./types.js").Mark[]} marks
 * @param {Side[]} sides
 * @param {import("./types.js").Look[]} looks
 */
export function showLegend(marks, sides, looks) {
  const [{ lens }] = looks;
  const key = { mark: (mark) => dotOf(mark, lens !== "attention"), shape: (name) => html("span", { class: `${name}-key` }) };
  const items = legendKeys(marks, sides, looks).map(({ mark, sign, name }) =>
    html("li", {}, mark ? key.mark(mark) : sign === "star" ? html("span", {}, "★") : key.shape(sign), name));
  items.push(html("li", { class: "note" }, lensNote(lens, compared(marks, sides))));
  at("legend").replaceChildren(...items);
}

/**
 * What stands in the legend, on the page and in a file.
 * @returns {{mark?: import("./types.js").Mark, sign?: string, name: string}[]}
 */
export function legendKeys(marks, sides, looks) {
  const [{ lens }] = looks;
  const dots = sides.flatMap((side, k) => drawnNodes(side, looks[k]));
  const [first] = compared(marks, sides);
  return [
    ...drawnClasses(dots).map((label) => ({ mark: marks[label], name: marks[label].name })),
    ...(lens === "attention" ? [] : [
      { sign: "for", name: `speaks for ${first}` }, { sign: "against", name: "speaks against it" }]),
    { sign: "target", name: "target" },
    ...(dots.some((dot) => dot.is_train) ? [{ sign: "star", name: "training node" }] : []),
    ...(dots.some((dot) => dot.label < 0) ? [{ sign: "empty", name: "no label: the prediction's shape" }] : []),
    ...(looks.some((look) => look.groups) ? [{ sign: "group", name: "two rims: a group of nodes" }] : []),
  ];
}

/** The single nodes of a picture: of a hub in groups, the target and those that stand alone. */
function drawnNodes(side, look) {
  const named = look.groups && new Set(look.groups.map(({ node }) => node));
  return named ? side.nodes.filter((dot, k) => !k || named.has(dot.index)) : side.nodes;
}

/** The names of the predicted and the second class of the first run. */
export function compared(marks, sides) {
  const why = sides[0].why;
  return why ? [marks[why.answer].name, marks[why.second].name] : ["the prediction", "the second class"];
}

/**
 * The classes whose marks are drawn: true ones, and answers where there is no label; ascending.
 * @param {import("./types.js").Dot[]} dots
 * @returns {number[]}
 */
export function drawnClasses(dots) {
  return [...new Set(dots.map((dot) => (dot.label < 0 ? dot.answer : dot.label)))].sort((a, b) => a - b);
}
