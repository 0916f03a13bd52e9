/** What would be otherwise: other edges, dropped features, other betas, and the edge that changes the prediction. */

import { at, button, html } from "./dom.js";
import { changesOf } from "./link.js";
import { ask } from "./questions.js";
import { searchable } from "./search.js";
import { counted, signed } from "./words.js";

const PAUSE = 60; // milliseconds of rest of a slider before the model is computed

/** Make the controls work; returns what shows the betas. @param {import("./types.js").Page} page */
export function whatIf(page) {
  at("change").addEventListener("click", () => findChange(page));
  at("as-trained").addEventListener("click", page.asTrained);
  searchable(page, at("add-search"), at("add-found"), (id) => addEdge(page, id));
  at("own-features").addEventListener("toggle", () => listFeatures(page));
  at("feature-of").addEventListener("change", () => listFeatures(page));
  const [{ betas, title }] = page.about.runs;
  at("betas").hidden = !betas;
  at("no-betas").hidden = Boolean(betas);
  at("no-betas").textContent = `${title} has no beta to change.`;
  if (!betas) return () => {};
  let timer = 0;
  const now = () => [...at("beta-list").querySelectorAll("input")].map((each) => Number(each.value));
  const say = () => now().forEach((value, k) => (at(`beta-value-${k}`).textContent = value.toFixed(1)));
  at("beta-list").replaceChildren(...betas.map((beta, k) => {
    const most = Math.max(10, Math.ceil(beta) + 2);
    const input = html("input", { type: "range", min: -2, max: most, step: 0.1, id: `beta-${k}` });
    input.addEventListener("input", () => {
      say();
      clearTimeout(timer);
      timer = setTimeout(() => page.betas(now()), PAUSE);
    });
    return html("div", { class: "slider" }, html("label", { for: `beta-${k}` }, `layer ${k + 1}`), input,
      html("output", { id: `beta-value-${k}`, for: `beta-${k}` }));
  }));
  at("beta-reset").addEventListener("click", () => page.betas(null));
  return () => {
    const shown = page.state.betas ?? page.about.runs[0].betas ?? [];
    shown.forEach((beta, k) => (at(`beta-${k}`).value = String(beta)));
    say();
    if (page.state.betas) at("betas").open = true;
  };
}

async function findChange(page) {
  const { around } = page;
  at("changed").textContent = "Trying …";
  at("change").disabled = true;
  try {
    const { edges, is_smallest: isSmallest } = await ask("change", { node: page.state.node, ...changesOf(page.state) });
    if (page.around !== around) return; // somebody walked on or changed something meanwhile
    const words = !edges.length ? "No set of its edges that was tried changes the prediction."
      : `Without ${counted(edges.length, "edge")} another class is predicted; ${isSmallest ? "no smaller set does it" : "none of them can be spared"}.`;
    if (edges.length) await page.what({ without: [...page.state.without, ...edges] });
    at("changed").textContent = words;
  } catch (error) {
    if (page.around !== around) return;
    at("changed").textContent = "";
    page.fail(error);
  } finally {
    at("change").disabled = false;
  }
}

/** What is otherwise, for a sentence. @param {import("./types.js").State} state */
export function changeWords({ without, added, dropped, betas }) {
  const others = added.length + dropped.length + (betas ? 1 : 0);
  if (!others) return `Without ${counted(without.length, "edge")}`;
  return `With ${counted(others + without.length, "change")}`;
}

/** List what is otherwise, each with a way back. @param {import("./types.js").Page} page */
export function showChanges(page) {
  const { without, added, dropped, betas } = page.state, { names, sides } = page.around;
  const shown = new Map(sides.flatMap((side) => side.nodes).map((dot) => [dot.index, dot.title ?? dot.id]));
  const node = (index) => names?.nodes[index] ?? shown.get(index) ?? `#${index}`;
  const edge = (pair) => pair.map(node).join(" – ");
  const item = (words, label, back, action) => html("li", {}, html("span", {}, words),
    button(label, action, { "aria-label": `${label} ${back}` }));
  const items = [
    ...without.map((pair) => item(`no edge ${edge(pair)}`, "Put back", `the edge ${edge(pair)}`, () => page.toggle(pair))),
    ...added.map((pair) => item(`new edge ${edge(pair)}`, "Take out", `the edge ${edge(pair)}`, () => page.toggle(pair))),
    ...dropped.map((each) => {
      const word = names.features[each[1]];
      return item(`${node(each[0])} without “${word}”`, "Put back", `${word} of ${node(each[0])}`,
        () => page.what({ dropped: dropped.filter((other) => other !== each) }));
    }),
    ...(betas ? [item(`beta ${betas.map((beta) => beta.toFixed(1)).join(", ")}`, "As trained", "beta", () => page.what({ betas: null }))] : []),
  ];
  at("removed").hidden = items.length === 0;
  at("removed-list").replaceChildren(...items);
  showFeatureNodes(page);
  listFeatures(page);
}

async function addEdge(page, id) {
  try {
    // The exact id, or what the search would find first.
    const { nodes } = await ask("search", { q: id });
    const other = nodes.find((each) => each.id === id) ?? nodes[0];
    if (!other) throw new Error(`Nothing is called ${id}.`);
    const target = page.around.node.index, pair = [target, other.index];
    const isGone = page.state.without.find((each) => each.includes(target) && each.includes(other.index));
    if (isGone && other.index !== target) await page.toggle(isGone);
    else await page.what({ added: [...page.state.added, pair] });
  } catch (error) {
    page.fail(error);
  }
}

/** The nodes whose features can be dropped: the target and those with a bar of their own. */
function showFeatureNodes(page) {
  const { node, sides } = page.around, before = at("feature-of").value;
  const others = (sides[0].why?.steps ?? []).filter((step) => step.kind === "node");
  at("feature-of").replaceChildren(html("option", { value: node.index }, node.title ?? node.id),
    ...others.map((step) => html("option", { value: step.node }, step.name)));
  at("feature-of").value = before;
  if (at("feature-of").selectedIndex < 0) at("feature-of").selectedIndex = 0;
}

let featuresAsked = new AbortController();

/** The features of a node, each with a way to drop it. */
async function listFeatures(page) {
  if (!at("own-features").open || !page.around || page.about.shared) return;
  const { node, replica } = page.state, of = Number(at("feature-of").value);
  featuresAsked.abort();
  featuresAsked = new AbortController();
  try {
    const { count, features } = await ask("features", { node, of, replica, ...changesOf(page.state) }, featuresAsked.signal);
    at("feature-about").textContent = !count ? "It has none that is not 0."
      : `${counted(count, "feature")} that ${count === 1 ? "is" : "are"} not 0${count > features.length ? `, the ${features.length} that matter most` : ""}. What each adds to the lead; dropped, it is 0.`;
    at("feature-list").replaceChildren(...features.map(({ column, name, value }) =>
      html("li", {}, button(name, () => page.what({ dropped: [...page.state.dropped, [of, column]] }),
        { class: "word", "aria-label": `Drop ${name}`, title: `Drop ${name}` }),
      html("span", { class: `number ${value < 0 ? "con" : "pro"}` }, signed(value)))));
  } catch (error) {
    if (error.name !== "AbortError") page.fail(error);
  }
}
