/** The page: its state, what it shows of it, and what changes it. */

import { showAnswers, showRemoved, dotOf } from "./answers.js";
import { comparison } from "./compare.js";
import { at, html } from "./dom.js";
import { pairKey } from "./drawing.js";
import { heatMap } from "./heat.js";
import { keys } from "./keys.js";
import { readLink, writeLink } from "./link.js";
import { showNear } from "./near.js";
import { ask } from "./questions.js";
import { savePng, saveSvg } from "./save.js";
import { searchable } from "./search.js";
import { Stage } from "./stage.js";
import { layers } from "./tip.js";
import { counted, percent } from "./words.js";

const MORE = 60; // nodes that one asks for at a time
const MOST = 600; // that the server gives

class Page {
  /** @param {any} about */
  constructor(about) {
    this.about = about;
    this.marks = about.classes;
    this.state = readLink(location.hash);
    this.state.node ||= about.start;
    this.layers = Math.max(...about.runs.map((run) => run.layers));
    this.around = null; // the server's last answer
    this.change = null; // probabilities without some edges
    this.edge = null; // that was clicked, as two indices
    this.asked = new AbortController();
    this.stage = new Stage(this);
    this.showHeat = heatMap(this, () => this.state.cell);
    searchable(this);
    this.#controls();
  }

  // What changes the state. A walk is a step that the browser's back button undoes.

  walk = (id) => this.#go({ node: id, limit: 60, without: [] }, true);
  hops = (hops) => this.#go({ hops, limit: 60 }, true);
  more = () => this.#go({ limit: Math.min(MOST, this.state.limit + MORE) }, true);
  replica = (replica) => this.#go({ replica }, false);

  layer(layer) {
    this.state.layer = Math.min(Math.max(layer, 0), this.layers);
    this.#keepLink(false);
    this.show();
  }

  keep(cell) {
    this.state.cell = cell;
    this.#keepLink(false);
  }

  toggle = async (pair) => {
    const key = pairKey(...pair);
    const rest = this.state.without.filter((each) => pairKey(...each) !== key);
    this.state.without = rest.length < this.state.without.length ? rest : [...rest, pair];
    this.#keepLink(true);
    await this.#askWithout();
    this.show();
  };

  pick(side, link) {
    this.edge = link.ends.map((end) => side.nodes[end].index);
    this.#showEdge(side, link);
    at("edge-card").scrollIntoView({ block: "nearest" });
  }

  #keepLink(isStep) {
    const link = writeLink(this.state);
    if (isStep) history.pushState(null, "", link);
    else history.replaceState(null, "", link);
  }

  async #go(change, isStep) {
    const before = this.state;
    this.state = { ...this.state, ...change };
    if (await this.load()) this.#keepLink(isStep);
    else this.state = before;
  }

  /** Ask for what the state says and show it; whether that went well. */
  async load() {
    const began = performance.now();
    this.asked.abort();
    this.asked = new AbortController();
    const { node, hops, limit, replica } = this.state;
    try {
      const around = await ask("around", { node, hops, limit, replica }, this.asked.signal);
      if (around.node.id !== this.around?.node.id) this.#forget();
      this.around = around;
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
      return false;
    }
    at("message").hidden = true;
    await this.#askWithout();
    this.show();
    requestAnimationFrame(() => setTimeout(() => performance.measure("agnn-load", { start: began })));
    return true;
  }

  #forget() {
    this.edge = null;
    this.stage.reset();
  }

  async #askWithout() {
    const edges = this.state.without.map((pair) => pair.join("-")).join(",");
    try {
      this.change = edges ? await ask("without", { node: this.state.node, edges }) : null;
    } catch (error) {
      this.change = null;
      this.state.without = [];
      this.fail(error);
    }
  }

  fail = (error) => {
    at("message").textContent = error.message;
    at("message").hidden = false;
  };

  // What the state looks like.

  show() {
    const { sides, node } = this.around;
    const gone = new Set(this.state.without.map((pair) => pairKey(...pair)));
    const view = Math.min(this.state.layer, this.layers);
    // A run with fewer layers keeps to its last one.
    const views = this.about.runs.map((run) => Math.min(view, run.layers));
    this.stage.show({ sides, views, gone, heading: this.heading(), titles: this.titles() });
    document.title = `${node.id} · agnn explore`;
    showAnswers(this, this.around, this.change, gone.size);
    showRemoved(this.#removed(), this.toggle);
    showNear(this, sides, views, gone);
    this.#showRest();
    this.#showLegend();
    this.#showControls(view);
    this.#showPickedEdge();
    this.walkers?.show();
  }

  heading() {
    const { node, hops, layer, replica } = this.state;
    const layers = layer ? `layer ${layer}` : "all layers";
    const who = replica === null ? "mean of the replicas" : `replica ${replica + 1}`;
    return `${node} · ${this.about.data}, ${counted(hops, "hop")}, ${layers}, ${who}`;
  }

  titles() {
    return this.about.runs.map((run) => run.title);
  }

  #removed() {
    const names = new Map(this.around.sides.flatMap((side) => side.nodes.map((dot) => [dot.index, dot.id])));
    return this.state.without.map((pair) => ({ pair, words: pair.map((end) => names.get(end) ?? `#${end}`).join(" – ") }));
  }

  #showRest() {
    const words = this.around.sides.map((side, k) => {
      const title = this.about.runs.length > 1 ? `${this.about.runs[k].title}: ` : "";
      const shown = `${counted(side.nodes.length, "node")} shown`;
      const rest = side.left_out ? `, ${counted(side.left_out, "less attended")}`.replace(/s$/, "") + " not" : "";
      const far = side.elsewhere >= 0.005 ? `; ${percent(side.elsewhere)} comes from nodes that are not shown` : "";
      return `${title}${shown}${rest}${far}.`;
    });
    at("rest").textContent = words.join(" ");
    const rest = Math.max(...this.around.sides.map((side) => side.left_out));
    if (rest && this.state.limit < MOST) {
      const more = html("button", { id: "more", type: "button" }, `Show ${Math.min(MORE, rest)} more`);
      more.addEventListener("click", this.more);
      at("rest").append(" ", more);
    }
  }

  #showLegend() {
    const dots = this.around.sides.flatMap((side) => side.nodes);
    const present = [...new Set(dots.map((dot) => (dot.label < 0 ? dot.answer : dot.label)))].sort((a, b) => a - b);
    const items = present.map((label) => html("li", {}, dotOf(this.marks[label]), this.marks[label].name));
    items.push(html("li", {}, html("span", { class: "target-key" }), "target"));
    if (dots.some((dot) => dot.is_train)) items.push(html("li", {}, html("span", { class: "star-key" }, "★"), "training node"));
    if (dots.some((dot) => dot.label < 0)) items.push(html("li", {}, html("span", { class: "empty-key" }), "no label: the answer's colour"));
    items.push(html("li", { class: "note" }, "Area and number: percent of what reaches the target."));
    at("legend").replaceChildren(...items);
  }

  #showControls(view) {
    at("layer").value = String(view);
    at("layer-name").textContent = view ? `layer ${view}` : "all layers";
    at("layer").setAttribute("aria-valuetext", at("layer-name").textContent);
    at("replica").value = this.state.replica === null ? "" : String(this.state.replica);
    at("hops").querySelectorAll("input").forEach((each) => (each.checked = Number(each.value) === this.state.hops));
  }

  #showPickedEdge() {
    at("edge-card").hidden = true;
    if (!this.edge) return;
    const side = this.around.sides[0], key = pairKey(...this.edge);
    const link = side.links.find(({ ends }) => pairKey(...ends.map((end) => side.nodes[end].index)) === key);
    if (link) this.#showEdge(side, link);
  }

  #showEdge(side, link) {
    const ids = link.ends.map((end) => side.nodes[end].id);
    at("edge-title").textContent = `Edge ${ids.join(" – ")}`;
    const tables = [0, 1].map((way) => layers(`${ids[1 - way]} → ${ids[way]}`, link.attention[way], link.relevance[way], this.state.layer));
    at("edge-table").replaceChildren(...tables);
    const pair = link.ends.map((end) => side.nodes[end].index);
    const isGone = this.state.without.some((each) => pairKey(...each) === pairKey(...pair));
    at("edge-cut").textContent = isGone ? "Put the edge back" : "Remove the edge";
    at("edge-cut").onclick = () => this.toggle(pair);
    at("edge-card").hidden = false;
  }

  #controls() {
    const { about } = this;
    at("facts").textContent = `${about.data} · ${counted(about.nodes, "node")}, ${counted(about.edges, "edge")} · ${about.runs.map(accuracyOf).join(" · ")}`;
    at("hops").append(...[1, 2, 3].map((hops) => {
      const input = html("input", { type: "radio", name: "hops", value: hops, id: `hops-${hops}` });
      input.addEventListener("change", () => this.hops(hops));
      return html("label", {}, input, html("span", {}, String(hops)));
    }));
    at("layer").max = String(this.layers);
    at("layer").addEventListener("input", () => this.layer(Number(at("layer").value)));
    at("layer-ticks").replaceChildren(...Array.from({ length: this.layers + 1 }, (_, t) => html("option", { value: t })));
    const replicas = Math.max(...about.runs.map((run) => run.replicas));
    at("replica").replaceChildren(html("option", { value: "" }, `mean of ${replicas}`), ...Array.from({ length: replicas }, (_, r) => html("option", { value: r }, `${r + 1} of ${replicas}`)));
    at("replica").addEventListener("change", () => this.replica(at("replica").value === "" ? null : Number(at("replica").value)));
    at("nearer").addEventListener("click", () => this.stage.magnify(1.4));
    at("farther").addEventListener("click", () => this.stage.magnify(1 / 1.4));
    at("fit").addEventListener("click", () => this.stage.fit());
    at("save-svg").addEventListener("click", () => saveSvg(this.stage.copy(), this.state.node));
    at("save-png").addEventListener("click", () => savePng(this.stage.copy(), this.state.node).catch(this.fail));
    at("copy").addEventListener("click", () => this.#copyLink());
    addEventListener("popstate", () => this.follow());
    keys(this);
  }

  async #copyLink() {
    await navigator.clipboard.writeText(location.href).then(
      () => (at("copy").textContent = "Copied"),
      () => this.fail(new Error("The browser lets no page copy here; take the link from its address line.")),
    );
    setTimeout(() => (at("copy").textContent = "Copy link"), 2000);
  }

  /** Show what the address says now. */
  async follow() {
    this.state = readLink(location.hash);
    this.state.node ||= this.about.start;
    await this.load();
    await this.showHeat();
  }
}

function accuracyOf(run) {
  const { mean, standard_error: error, n } = run.accuracy;
  const spread = error === null || n < 2 ? "" : ` ± ${error.toFixed(1)}`;
  return `${run.title} ${mean.toFixed(1)}${spread} %`;
}

async function start() {
  try {
    const page = new Page(await ask("about"));
    await page.load();
    page.walkers = await comparison(page);
    await page.showHeat();
  } catch (error) {
    at("message").textContent = error.message;
    at("message").hidden = false;
    throw error;
  }
}

start();
