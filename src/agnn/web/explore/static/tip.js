/** P and R of what the pointer or the focus is on. */

import { at, html } from "./dom.js";
import { homeward } from "./near.js";
import { percent, plain, precise, signed } from "./words.js";

/**
 * What is said of a node.
 * @param {import("./types.js").Page} page
 * @param {import("./types.js").Side} side
 * @param {number} k
 * @param {number} view
 * @param {import("./types.js").Look} look
 */
export function aboutDot(page, side, k, view, look) {
  const dot = side.nodes[k];
  const { attention, relevance } = homeward(side, k);
  const label = dot.label >= 0 ? page.marks[dot.label].name : "no label";
  const parent = side.nodes[dot.parent];
  const way = k === 0 ? "to itself" : `to ${parent.title ?? parent.id}`;
  return [
    html("b", {}, dot.title ?? dot.id),
    ...(dot.title ? [html("div", { class: "note" }, dot.id)] : []),
    html("div", {}, dot.is_train ? `${label} ★ training node` : label),
    html("div", {}, `prediction ${page.marks[dot.answer].name}, ${precise(dot.confidence)}`),
    html("div", {}, `adds ${signed(dot.contribution)} to the lead over the second class`),
    html("div", {}, `${percent(dot.share[view])} of the attention`),
    ...(look.lens === "removal" && k ? [html("div", {}, look.words[k])] : []),
    layers(way, attention, relevance, view),
  ];
}

/**
 * What is said of an edge.
 * @param {import("./types.js").Side} side
 * @param {number} k
 * @param {number} view
 */
export function aboutLink(side, k, view) {
  const link = side.links[k];
  const names = link.ends.map((end) => side.nodes[end].id);
  return [...ownWeight(link), ...[0, 1].map((way) =>
    layers(`${names[1 - way]} → ${names[way]}`, link.attention[way], link.relevance[way], view))];
}

/**
 * The weight that the edge has in the data; nothing where edges have none.
 * @param {import("./types.js").Link} link
 */
export function ownWeight(link) {
  return link.weight === null ? [] : [html("div", {}, `edge weight ${plain(link.weight)}`)];
}

/** P and R of every layer in a small table; a layer that has none is left out. */
export function layers(title, attention, relevance, view) {
  const rows = attention.flatMap((value, t) =>
    value === null ? [] : [html("tr", { class: view === t + 1 ? "now" : null },
      html("th", { scope: "row" }, `layer ${t + 1}`),
      html("td", {}, `P ${plain(value)}`),
      html("td", {}, `R ${signed(relevance[t])}`))]);
  if (!rows.length) rows.push(html("tr", {}, html("td", {}, "no layer reads it for the target")));
  return html("table", { class: "layers" }, html("caption", {}, title), html("tbody", {}, ...rows));
}

/**
 * Show the tip beside a point of the window.
 * @param {Node[]} content
 * @param {number} x
 * @param {number} y
 */
export function showTip(content, x, y) {
  const tip = at("tip");
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 12, innerHeight - height - 4))}px`;
}

export function hideTip() {
  at("tip").hidden = true;
}
