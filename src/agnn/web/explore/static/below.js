/** What stands below the picture: how much is shown, and what the marks mean. */

import { dotOf } from "./answers.js";
import { at, button, html } from "./dom.js";
import { MORE, MOST } from "./link.js";
import { counted, percent } from "./words.js";

/** @typedef {import("./questions.js").Side} Side */

/**
 * How many nodes are shown and how many are not, with a way to more of them.
 * @param {{about: any, state: import("./link.js").State, more: () => void}} page
 * @param {Side[]} sides
 */
export function showRest(page, sides) {
  const { runs } = page.about;
  const words = sides.map((side, k) => (runs.length > 1 ? `${runs[k].title}: ` : "") + sizeOf(side));
  at("rest").textContent = words.join(" ");
  const rest = Math.max(...sides.map((side) => side.left_out));
  if (rest && page.state.limit < MOST) {
    at("rest").append(" ", button(`Show ${Math.min(MORE, rest)} more`, page.more, { id: "more" }));
  }
}

function sizeOf(side) {
  const rest = side.left_out ? `, ${side.left_out.toLocaleString("en")} less attended not` : "";
  const far = side.elsewhere >= 0.005
    ? `; ${percent(side.elsewhere)} comes from nodes that are not shown` : "";
  return `${counted(side.nodes.length, "node")} shown${rest}${far}.`;
}

/**
 * The classes that occur and what else a mark can have.
 * @param {import("./questions.js").Mark[]} marks
 * @param {Side[]} sides
 */
export function showLegend(marks, sides) {
  const dots = sides.flatMap((side) => side.nodes);
  const item = (key, words) => html("li", {}, key, words);
  const items = drawnClasses(sides).map((label) => item(dotOf(marks[label]), marks[label].name));
  items.push(item(html("span", { class: "target-key" }), "target"));
  if (dots.some((dot) => dot.is_train)) items.push(item(html("span", {}, "★"), "training node"));
  if (dots.some((dot) => dot.label < 0)) {
    items.push(item(html("span", { class: "empty-key" }), "no label: the answer's colour"));
  }
  items.push(html("li", { class: "note" }, "Area and number: percent of what reaches the target."));
  at("legend").replaceChildren(...items);
}

/**
 * The classes whose marks are drawn: true ones, and answers where there is no label; ascending.
 * @param {Side[]} sides
 * @returns {number[]}
 */
export function drawnClasses(sides) {
  const classes = sides.flatMap((side) => side.nodes.map((dot) => (dot.label < 0 ? dot.answer : dot.label)));
  return [...new Set(classes)].sort((a, b) => a - b);
}
