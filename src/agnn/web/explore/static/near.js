/** The nodes of the picture as a table, those that are heard most first. */

import { dotOf } from "./answers.js";
import { at, button, html } from "./dom.js";
import { pairKey } from "./drawing.js";
import { percent, plain, precise, signed } from "./words.js";

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
 * @param {import("./questions.js").Side} side
 * @param {number} k
 * @returns {{attention: (number|null)[], relevance: (number|null)[]}}
 */
export function homeward(side, k) {
  const dot = side.nodes[k];
  if (k === 0) return dot;
  const a = Math.min(k, dot.parent), b = Math.max(k, dot.parent);
  const link = side.links.find(({ ends }) => ends[0] === a && ends[1] === b);
  const way = dot.parent === a ? 0 : 1;
  return { attention: link.attention[way], relevance: link.relevance[way] };
}

/**
 * @param {{marks: import("./questions.js").Mark[], about: any, walk: (id: string) => void,
 *   toggle: (pair: [number, number]) => void}} page
 * @param {import("./questions.js").Side[]} sides
 * @param {number[]} views one a side
 * @param {Set<string>} gone
 */
export function showNear(page, sides, views, gone) {
  const [side, other] = sides, [view] = views;
  const others = new Map((other?.nodes ?? []).map((dot) => [dot.index, dot.share[views[1]]]));
  const share = (k) => side.nodes[k].share[view];
  const order = side.nodes.map((_, k) => k).sort((a, b) => share(b) - share(a));
  const made = (k) => row(page, side, k, view, gone, other ? others : null);
  const first = order.length <= FIRST + FEW ? order.length : FIRST;
  const body = html("tbody", {}, ...order.slice(0, first).map(made));
  const titles = other ? page.about.runs.map((run) => run.title) : ["Share"];
  const head = ["Node", ...titles, "P", "R", ""];
  at("near").replaceChildren(
    html("caption", { class: "hidden" }, "Nodes by their share of what reaches the target"),
    html("thead", {}, html("tr", {}, ...head.map((name, k) =>
      html("th", { scope: "col", class: k > 0 ? "number" : null, title: MEANING[name] }, name)))),
    body,
  );
  offerRest(body, order.slice(first), made);
}

const MEANING = {
  Share: "Share of what reaches the target",
  P: "Attention along its edge towards the target",
  R: "Relevance of that edge: 0 is an even share",
};

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

function row(page, side, k, view, gone, others) {
  const dot = side.nodes[k], { attention, relevance } = homeward(side, k);
  const mark = page.marks.at(dot.label);
  const via = dot.hop > 1 ? ` · via ${side.nodes[dot.parent].id}` : "";
  const name = k === 0 ? html("b", {}, dot.id)
    : button(dot.id, () => page.walk(dot.id), { class: "walk", "aria-label": `Walk to ${dot.id}` });
  const answer = `answer: ${page.marks[dot.answer].name}, ${precise(dot.confidence)}`;
  const cells = [
    html("th", { scope: "row", title: `${dot.id}; ${mark.name}${via}; ${answer}` }, name,
      dot.is_train ? html("span", { class: "star", title: "training node" }, "★") : "",
      html("small", {}, dotOf(mark), mark.name, k === 0 ? " · target" : via)),
    html("td", { class: "number" }, percent(dot.share[view])),
  ];
  if (others) {
    const share = others.get(dot.index);
    cells.push(html("td", { class: "number" }, share === undefined ? "–" : percent(share)));
  }
  cells.push(
    html("td", { class: "number" }, plain(ofView(attention, view))),
    html("td", { class: "number" }, signed(ofView(relevance, view))),
    html("td", {}, k === 0 ? "" : cutter(page, side, dot, gone)),
  );
  return html("tr", { "data-row": dot.index }, ...cells);
}

function cutter(page, side, dot, gone) {
  const parent = side.nodes[dot.parent];
  const isGone = gone.has(pairKey(dot.index, parent.index));
  const words = `the edge between ${dot.id} and ${parent.id}`;
  const label = `${isGone ? "Put back" : "Remove"} ${words}`;
  return button(isGone ? "↺" : "✕", () => page.toggle([dot.index, parent.index]), {
    class: "cut", "aria-label": label, title: label,
  });
}
