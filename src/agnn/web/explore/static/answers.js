/** What the runs say about the target, and what they would say if something were otherwise. */

import { at, columns, html } from "./dom.js";
import { precise, short } from "./words.js";

const LETTERS = 140; // of a title
const ROWS = 9; // classes with a bar; beyond, the least probable are folded away

/**
 * Fill the card.
 * @param {import("./types.js").Page} page
 * @param {import("./types.js").Around} around
 * @param {import("./types.js").Change|null} change
 * @param {string} changes what is otherwise, in words
 */
export function showAnswers(page, around, change, changes) {
  const label = around.node.label;
  const sides = around.sides.map((side, k) => ({
    title: page.about.runs[k].title,
    before: change ? change.before[k] : side.probabilities,
    after: change ? change.after[k] : null,
  }));
  at("answer-title").replaceChildren(...titled(around.node));
  const isRight = label < 0 ? null : best(sides[0].before) === label;
  const verdict = label < 0 ? "Its label is not known." : sides.length > 1 ? `The label is ${page.marks[label].name}.`
    : isRight ? "This is right." : `This is wrong: the label is ${page.marks[label].name}.`;
  showAbout(around.node);
  at("spoken").textContent = sides.map((side) => sentence(side, page.marks, changes)).join(" ");
  at("verdict").textContent = verdict;
  at("verdict").className = isRight === null || sides.length > 1 ? "" : isRight ? "right" : "wrong";
  at("answers").replaceChildren(...sides.flatMap((side) => bars(side, page.marks, label, sides.length > 1)));
}

function sentence({ title, before, after }, marks, changes) {
  const said = (values) => `${marks[best(values)].name} (${precise(Math.max(...values))})`;
  const whole = `${title} predicts ${said(before)}.`;
  if (!after) return whole;
  const adverb = best(before) === best(after) ? "still" : "instead";
  return `${whole} ${changes} it ${adverb} predicts ${said(after)}.`;
}

function bars({ title, before, after }, marks, label, isTitled) {
  const order = before.map((_, k) => k).sort((a, b) => before[b] - before[a] || a - b);
  const rows = order.map((k) => {
    const now = after ? after[k] : before[k];
    const name = html("div", {}, dotOf(marks[k]), html("span", { class: "of-class" }, marks[k].name));
    if (k === label) name.append(" ", html("span", { class: "true" }, "label"));
    return html("tr", {}, html("th", { scope: "row", title: marks[k].name }, name),
      html("td", { class: "bar", "aria-hidden": "true" }, ...lengths(before[k], after ? now : null, marks[k].colour)),
      html("td", { class: "number" }, precise(now)),
      ...(after ? [html("td", { class: "number change" }, points(now - before[k]))] : []));
  });
  const table = (words, isShown, body) => html("table", { class: "bars" }, html("caption", { class: isShown ? null : "hidden" }, words),
    columns("name", "bar", "value", ...(after ? ["value"] : [])), html("tbody", {}, ...body));
  if (rows.length <= ROWS + 2) return [table(title, isTitled, rows)];
  const isFirst = (k) => k < ROWS || order[k] === label || (after && order[k] === best(after));
  const rest = rows.filter((_, k) => !isFirst(k));
  return [table(title, isTitled, rows.filter((_, k) => isFirst(k))),
    html("details", { class: "rest" }, html("summary", {}, `${rest.length} less probable classes`), table(`${title}: less probable classes`, false, rest))];
}

function lengths(before, after, colour) {
  const bar = (value, name) => {
    const made = html("i", { class: name });
    made.style.width = `${100 * value}%`;
    made.style.background = colour;
    return made;
  };
  return after === null ? [bar(before, "")] : [bar(before, "before"), bar(after, "")];
}

function points(change) {
  const size = Math.abs(100 * change).toFixed(1);
  return size === "0.0" ? "±0.0" : `${change < 0 ? "−" : "+"}${size}`;
}

function best(values) {
  return values.indexOf(Math.max(...values));
}

/** The title of a node, or its id; both where there are both. */
export function titled(node) {
  if (!node.title) return [node.id];
  const cut = short(node.title, LETTERS), isCut = cut !== node.title;
  const title = isCut ? [html("span", { "aria-hidden": "true", title: node.title }, cut), html("span", { class: "hidden" }, node.title)] : [node.title];
  return [...title, " ", html("small", {}, node.id)];
}

/** Where the node is on the web and what it is, as far as the data says. @param {import("./types.js").NodeRecord} node */
function showAbout({ url = "", description }) {
  const isLink = /^https?:\/\//i.test(url);
  at("about-node").replaceChildren(
    ...(isLink ? [html("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, url)] : []),
    ...(description ? [html("p", {}, description)] : []));
  at("about-node").hidden = !isLink && !description;
}

/** A small mark of a class, to stand before its name; without its colour where that means else. */
export function dotOf(mark, isPlain = false) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("viewBox", "-1.6 -1.6 3.2 3.2");
  made.setAttribute("class", "mark");
  made.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", mark.shape);
  path.setAttribute("fill", mark.is_empty ? "none" : isPlain ? "currentColor" : mark.colour);
  if (mark.is_empty) path.setAttribute("stroke", "currentColor");
  if (mark.is_empty) path.setAttribute("stroke-width", "0.35");
  made.append(path);
  return made;
}
