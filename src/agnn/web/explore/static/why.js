/** Why this class: one sentence, and the lead over the second class as a waterfall. */

import { dotOf } from "./answers.js";
import { at, button, columns, html } from "./dom.js";
import { pairKey } from "./drawing.js";
import { counted, signed } from "./words.js";

/**
 * Fill the card with one waterfall a run.
 * @param {import("./types.js").Page} page
 * @param {import("./types.js").Side[]} sides
 * @param {Set<string>} gone
 */
export function showWhy(page, sides, gone) {
  at("why").hidden = sides.every((side) => !side.why);
  at("why-runs").replaceChildren(...sides.flatMap((side, k) => (side.why ? waterfall(page, side, k, gone) : [])));
}

function waterfall(page, side, run, gone) {
  const { why } = side, name = (label) => page.marks.at(label).name;
  const title = sidesTitle(page, run);
  const rows = [];
  let sum = 0;
  const ends = why.steps.map((step) => [sum, (sum += step.value)]);
  const low = Math.min(0, ...ends.flat()), high = Math.max(0, ...ends.flat());
  const scale = (value) => (100 * (value - low)) / Math.max(high - low, 1e-9);
  why.steps.forEach((step, k) => rows.push(stepRow(page, side, step, ends[k], scale, gone)));
  rows.push(html("tr", { class: "total" }, html("th", { scope: "row" }, `lead over ${name(why.second)}`),
    html("td", { class: "fall", "aria-hidden": "true" }, bar([0, sum], scale, "sum")),
    html("td", { class: "number" }, signed(sum))));
  const caption = `${title}What carries ${name(why.answer)} over ${name(why.second)}`;
  const table = html("table", { class: "waterfall" }, html("caption", {}, caption), columns("name", "bar", "value"),
      html("thead", { class: "hidden" }, html("tr", {}, ...["What", "Bar", "Adds"].map((word) => html("th", { scope: "col" }, word)))),
      html("tbody", {}, ...rows));
  table.style.setProperty("--zero", `${scale(0)}%`);
  return [html("p", { class: "sentence" }, why.sentence), table, byClass(page, why)];
}

const sidesTitle = (page, run) => (page.about.runs.length > 1 ? `${page.about.runs[run].title}: ` : "");

function stepRow(page, side, step, ends, scale, gone) {
  const place = side.nodes.findIndex((dot) => dot.index === step.node);
  const parent = place > 0 ? side.nodes[side.nodes[place].parent] : null;
  const isGone = parent !== null && gone.has(pairKey(step.node, parent.index));
  const made = bar(ends, scale, step.value < 0 ? "against" : "for");
  const words = `${isGone ? "Put back" : "Remove"} ${step.name}`;
  const track = parent === null ? made
    : button(made, () => page.toggle([step.node, parent.index]), { class: "remove", "aria-label": words, title: words });
  const features = step.features.map(({ name, value }) => `${name} ${signed(value)}`).join(", ");
  const label = step.kind === "node" ? page.walkButton(step.node, step.id, step.title ?? undefined) : html("span", {}, step.name);
  return html("tr", { class: isGone ? "gone" : null, "data-step": step.node ?? step.kind },
    html("th", { scope: "row" }, label,
      features ? html("small", { title: features }, features) : ""),
    html("td", { class: "fall", "aria-hidden": parent === null ? "true" : null }, track),
    html("td", { class: `number ${step.value < 0 ? "con" : "pro"}` }, signed(step.value)));
}

function bar([from, to], scale, kind) {
  const made = html("i", { class: kind });
  const [left, right] = [scale(Math.min(from, to)), scale(Math.max(from, to))];
  made.style.marginLeft = `${left}%`;
  made.style.width = `${Math.max(right - left, 0.6)}%`;
  return made;
}

function byClass(page, why) {
  const rows = why.by_class.map(({ label, nodes, value }) => html("tr", {},
    html("th", { scope: "row" }, dotOf(page.marks.at(label)), page.marks.at(label).name),
    html("td", { class: "number" }, counted(nodes, "node")),
    html("td", { class: `number ${value < 0 ? "con" : "pro"}` }, signed(value))));
  return html("details", {}, html("summary", {}, "The other nodes by class"),
    html("table", { class: "classes-sum" }, html("tbody", {}, ...rows)));
}
