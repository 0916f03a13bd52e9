/** The nodes of the picture as a table, those that matter most through the lens first. */

import { dotOf } from "./answers.js";
import { at, button, html, named } from "./dom.js";
import { pairKey } from "./drawing.js";
import { percent, precise, signed } from "./words.js";

const FIRST = 12; // rows before one asks for all
const FEW = 4; // more rows that are not worth a question

/**
 * The layer whose P and R stand for the way from a node to its parent: the view's own, or with
 * all layers together the last one that reads this edge for the target.
 * @param {(number|null)[]} values by layer
 * @param {number} view
 */
export function ofView(values, view) {
  if (view > 0) return values[view - 1];
  return values.findLast((value) => value !== null) ?? null;
}

/**
 * P and R by layer along the edge from a node to its parent; of the target to itself.
 * @param {import("./types.js").Side} side
 * @param {number} k
 * @returns {{attention: (number|null)[], relevance: (number|null)[]}}
 */
export function homeward(side, k) {
  const dot = side.nodes[k];
  if (k === 0) return dot;
  const a = Math.min(k, dot.parent), b = Math.max(k, dot.parent);
  const link = /** @type {import("./types.js").Link} */ (side.links.find(({ ends }) => ends[0] === a && ends[1] === b));
  const way = dot.parent === a ? 0 : 1;
  return { attention: link.attention[way], relevance: link.relevance[way] };
}

const COLUMNS = { contribution: "Adds", attention: "Attention", removal: "Removal" };
const MEANING = {
  Adds: "what it adds to the lead of the predicted class over the second",
  Attention: "share of the attention over all paths: where the model looks",
  Removal: "by how many points the prediction falls without its edge towards the target",
  R: "relevance of its edge towards the target: 0 is an even share of the attention",
};

/**
 * @param {import("./types.js").Page} page
 * @param {import("./types.js").Side[]} sides
 * @param {number[]} views one a side
 * @param {import("./types.js").Look[]} looks one a side
 * @param {Set<string>} gone
 */
export function showNear(page, sides, views, looks, gone) {
  const [side, other] = sides, { lens } = page.state;
  const others = other && new Map(other.nodes.map((dot, k) => [dot.index, k]));
  const size = (k) => Math.abs(looks[0].value[k] ?? 0);
  const order = side.nodes.map((_, k) => k).sort((a, b) => size(b) - size(a));
  // Beside another run the lens alone; else what it adds and whom the model reads, next to each other.
  const own = COLUMNS[lens];
  const columns = other ? page.about.runs.map((run, k) => [run.title, (place) => cell(lens, looks[k], place[k])])
    : [[own, ([k]) => cell(lens, looks[0], k)],
      lens === "contribution" ? ["Attention", ([k]) => percent(side.nodes[k].share[0])]
        : ["Adds", ([k]) => signed(side.nodes[k].contribution)],
      ["R", ([k]) => signed(ofView(homeward(side, k).relevance, lens === "attention" ? views[0] : 0))]];
  const made = (k) => row(page, side, k, columns, [k, others?.get(side.nodes[k].index)], gone);
  const first = order.length <= FIRST + FEW ? order.length : FIRST;
  const body = html("tbody", {}, ...order.slice(0, first).map(made));
  const heads = columns.map(([name]) =>
    html("th", { scope: "col", class: "number", title: MEANING[name] }, name));
  at("near").replaceChildren(
    html("caption", { class: "hidden" }, `Nodes in the picture by ${lens}`),
    html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Node"), ...heads,
      html("th", { scope: "col", class: "cutter" }, html("span", { class: "hidden" }, "Remove its edge")))),
    body,
  );
  offerRest(body, order.slice(first), made);
  const told = columns.filter(([name]) => MEANING[name]).map(([name]) => `${name}: ${MEANING[name]}.`);
  at("near-note").textContent = [...told, "Via: the neighbour through which it reaches the target.", "✕ removes that edge."].join(" ");
}

function cell(lens, look, k) {
  if (k === undefined) return "–";
  return lens === "attention" ? percent(look.value[k]) : look.number[k] || "–";
}

/** The rest of the rows is made when somebody asks for it: nobody waits for what is not read. */
function offerRest(body, rest, made) {
  const more = at("near-more");
  more.hidden = rest.length === 0;
  more.textContent = `Show all ${FIRST + rest.length} rows`;
  more.onclick = () => {
    body.append(...rest.map(made));
    more.hidden = true;
    body.children[FIRST].querySelector("button")?.focus();
  };
}

function row(page, side, k, columns, places, gone) {
  const dot = side.nodes[k], mark = page.marks.at(dot.label);
  const via = dot.hop > 1 ? ` · via ${side.nodes[dot.parent].title ?? side.nodes[dot.parent].id}` : "";
  const words = dot.title ?? dot.id;
  const name = k === 0 ? named(words, "b") : page.walkButton(dot.index, dot.id, dot.title);
  const answer = `prediction: ${page.marks[dot.answer].name}, ${precise(dot.confidence)}`;
  return html("tr", { "data-row": dot.index },
    html("th", { scope: "row", title: `${words}; ${mark.name}${via}; ${answer}` }, name,
      dot.is_train ? html("span", { class: "star", title: "training node" }, "★") : "",
      html("small", {}, dotOf(mark), mark.name, k === 0 ? " · target" : via)),
    ...columns.map(([, value]) => html("td", { class: "number" }, value(places))),
    html("td", { class: "cutter" }, k === 0 ? "" : cutter(page, side, dot, gone)));
}

function cutter(page, side, dot, gone) {
  const parent = side.nodes[dot.parent];
  const isGone = gone.has(pairKey(dot.index, parent.index));
  const words = `the edge between ${dot.title ?? dot.id} and ${parent.title ?? parent.id}`;
  const label = `${isGone ? "Put back" : "Remove"} ${words}`;
  return button(isGone ? "↺" : "✕", () => page.toggle([dot.index, parent.index]), {
    class: "cut", "aria-label": label, title: label,
  });
}
