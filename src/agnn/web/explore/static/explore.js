/** The page: its state, what it shows of it, and what changes it. */

import { showAnswers } from "./answers.js";
import { showLegend, showRest } from "./below.js";
import { CohortBar } from "./cohorts.js";
import { makeControls, showControls, showFacts } from "./controls.js";
import { LATER, at, button, html, named } from "./dom.js";
import { pairKey } from "./drawing.js";
import { showEdge } from "./edge.js";
import { groupsOf } from "./groups.js";
import { heatMap } from "./heat.js";
import { keys } from "./keys.js";
import { Labelling } from "./labelling.js";
import { byNode, seen, trials } from "./lens.js";
import { MORE, MOST, START, changesOf, readLink, writeLink } from "./link.js";
import { GraphMap } from "./map.js";
import { showNear } from "./near.js";
import { ask, keepToken } from "./questions.js";
import { searchable } from "./search.js";
import { makeSets, showSets } from "./sets.js";
import { Stage } from "./stage.js";
import { changeWords, showChanges, whatIf } from "./whatif.js";
import { showWhy } from "./why.js";
import { counted } from "./words.js";

export class Page {
  /** @param {import("./types.js").About} about */
  constructor(about) {
    this.about = about;
    this.marks = about.classes;
    this.layers = Math.max(...about.runs.map((run) => run.layers));
    this.replicas = Math.min(...about.runs.map((run) => run.replicas)); // that every run has
    this.mostHops = Math.max(2, Math.min(8, this.layers));
    this.state = this.#linked();
    this.settled = this.state; // that of what is shown
    /** @type {import("./types.js").Around} the server's last answer */
    this.around = LATER;
    /** @type {{index: number, id: string, title?: string}[]} the nodes walked through */
    this.path = [];
    /** @type {(number|null)[][]|null} the effects of removals, by side and node */
    this.effects = null;
    /** @type {import("./types.js").Change|null} probabilities as trained, and with the changes */
    this.change = null;
    /** @type {import("./types.js").Pair|null} the edge that was clicked, as two indices */
    this.edge = null;
    this.asked = new AbortController();
    this.canSuggest = about.is_labelling && !about.shared;
    this.stage = new Stage(this);
    this.map = new GraphMap(this);
    this.cohorts = new CohortBar(this);
    this.showHeat = heatMap(this, () => this.state.cell);
    searchable(this, at("search"), at("found"), this.walk);
    makeControls(this);
    makeSets(this);
    this.showBetas = whatIf(this);
    this.labelling = about.is_labelling ? new Labelling(this) : null;
    keys(this);
    addEventListener("popstate", () => this.follow());
  }

  // What changes the state. A walk is a step that the browser's back button undoes.

  // What was changed stays changed, but in a file that has answers for the edges of one node alone.
  walk = (id) => this.#go({ node: id, view: "node", limit: START.limit, single: START.single, ...(this.about.shared ? { without: [] } : {}) }, true);
  betas = (betas) => this.#go({ betas }, false);
  hops = (hops) => !this.about.shared && this.#go({ hops, limit: START.limit }, true);
  more = () => this.#go({ limit: Math.min(MOST, this.state.limit + MORE) }, true);
  replica = (replica) => this.#go({ replica }, false);

  /** Draw a hub as single nodes, or in groups. */
  single = (single) => {
    this.state.single = single;
    this.#keepLink(false);
    this.show();
    at("grouping").focus();
  };

  /** Show the map or the neighbourhood; without a node there is only the map. */
  view = (view) => (view === "map" ? this.#go({ view }, true) : this.walk(this.state.node || this.about.start));

  colour(colour) {
    this.state.colour = colour;
    this.#keepLink(false);
    this.map.show();
  }

  coverage = (coverage) => {
    this.state.coverage = coverage;
    this.#keepLink(false);
    return showSets(this);
  };

  /** Choose a cohort by its key; whether there is such a one. */
  cohort = async (key) => {
    this.state.cohort = key;
    if (!key) this.cohorts.choose(null);
    await this.cohorts.follow();
    this.#keepLink(true);
    return this.state.cohort === key;
  };

  /** The id of the node whose neighbourhood is shown. */
  shownNode() {
    return this.state.view === "node" ? this.state.node : "";
  }

  /** The node whose neighbourhood is shown; null on the map, and while another one is on its way. */
  settledNode() {
    return this.around && this.around.node.id === this.shownNode() ? this.around.node : null;
  }

  /** What the zoom keys act on. */
  picture() {
    return this.state.view === "map" ? this.map : this.stage;
  }

  lens = async (lens) => {
    if (this.state.view === "map") return;
    this.state.lens = lens;
    this.#keepLink(false);
    await this.#askEffects();
    this.show();
  };

  /** A button that walks to a node. */
  walkButton(index, id, title) {
    const words = title ?? String(id);
    return button(named(words), () => this.walk(String(id)), { class: "walk", "aria-label": `Walk to ${words}`, title: words });
  }

  layer(layer) {
    if (this.state.view === "map") return;
    this.state.layer = Math.min(Math.max(layer, 0), this.layers);
    this.#keepLink(false);
    this.show();
  }

  keep(cell) {
    this.state.cell = cell;
    this.#keepLink(false);
  }

  /** Remove an edge, or put it back; one that was added is taken out again. */
  toggle = (pair) => {
    const rest = (pairs) => pairs.filter((each) => pairKey(...each) !== pairKey(...pair));
    const { without, added } = this.state;
    if (rest(added).length < added.length) return this.what({ added: rest(added) });
    return this.what({ without: rest(without).length < without.length ? rest(without) : [...without, pair] });
  };

  /** Change the graph or the model in thought; the address tells it, and back undoes it. */
  what = async (change) => {
    const isTyping = document.activeElement?.matches("input");
    if (this.about.shared) {
      Object.assign(this.state, change);
      this.#keepLink(true);
      await this.#askWithout();
      this.show();
    } else await this.#go(change, true);
    // The button that was pressed may be gone with its row.
    if (!isTyping && document.activeElement === document.body) at("removed-list").querySelector("li:last-child button")?.focus();
  };

  asTrained = () => this.what({ without: [], added: [], dropped: [], betas: null });

  pick(side, link) {
    this.edge = link.ends.map((end) => side.nodes[end].index);
    showEdge(this, side, this.edge);
    at("edge-card").scrollIntoView({ block: "nearest" });
  }

  /** The state that the address carries, as far as there is such a thing here. */
  #linked() {
    const { shared } = this.about, state = readLink(location.hash || `#cohort=${shared?.cohort ?? ""}`);
    if (shared) Object.assign(state, { hops: shared.hops, limit: START.limit, replica: null, betas: null, added: [], dropped: [] });
    const isKnown = state.replica !== null && state.replica < this.replicas;
    const hops = Math.min(state.hops, this.mostHops);
    const count = this.about.runs[0].betas?.length;
    return { ...state, hops, betas: state.betas?.length === count ? state.betas : null, replica: isKnown ? state.replica : null };
  }

  #keepLink(isStep) {
    const link = writeLink(this.state);
    try {
      if (isStep) history.pushState(null, "", link);
      else history.replaceState(null, "", link);
    } catch {
      // A page from a mail or a preview may have no address of its own.
    }
  }

  async #go(change, isStep) {
    const wanted = { ...this.state, ...change };
    this.state = wanted;
    if (await this.load()) this.#keepLink(isStep);
    else if (this.state === wanted) { // else somebody went on meanwhile
      this.state = this.settled;
      if (this.around && this.state.view === "node") this.show();
    }
  }

  /** Ask for what the state says and show it; whether that went well. */
  async load() {
    const began = performance.now();
    this.asked.abort();
    this.asked = new AbortController();
    const { state } = this, { node, hops, limit, replica, view } = state;
    if (view === "map") {
      this.settled = state;
      at("message").hidden = true;
      this.#arrange();
      await this.map.show();
      await this.cohorts.follow();
      requestAnimationFrame(() => setTimeout(() => performance.measure("agnn-load", { start: began })));
      return true;
    }
    try {
      const changes = this.about.shared ? {} : changesOf(this.state);
      const around = await ask("around", { node, hops, limit, replica, ...changes }, this.asked.signal);
      if (around.node.id !== this.around?.node.id) this.#forget();
      at("changed").textContent = "";
      this.around = around;
      const before = around.sides.flatMap((side) => (side.before ? [side.before] : []));
      this.change = before.length ? { before, after: around.sides.map((side) => side.probabilities) } : null;
      this.effects = null;
      at("stage").removeAttribute("aria-busy");
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
      return false;
    }
    this.settled = state;
    at("message").hidden = true;
    await Promise.all([this.#askWithout(), this.#askEffects()]);
    if (this.state !== state) return false; // somebody went on meanwhile
    this.#arrange();
    this.#remember(this.around.node);
    this.show();
    await this.cohorts.follow();
    requestAnimationFrame(() => setTimeout(() => performance.measure("agnn-load", { start: began })));
    return true;
  }

  /** Show the part of the page that the view is about. */
  #arrange() {
    const isMap = this.state.view === "map";
    for (const id of ["map-view", "overview"]) at(id).hidden = !isMap;
    for (const id of ["node-view", "answer-card", "near-card"]) at(id).hidden = isMap;
    if (isMap) for (const id of ["why", "edge-card"]) at(id).hidden = true;
    if (isMap) document.title = `${this.about.data} · agnn explore`;
    at(`view-${this.state.view}`).checked = true;
  }

  #remember(node) {
    const known = this.path.findIndex(({ index }) => index === node.index);
    if (known >= 0) this.path.splice(known, 1);
    this.path = [...this.path, { index: node.index, id: node.id, title: node.title }].slice(-12);
    const steps = this.path.slice(-6).map((each) => (each.index === node.index ? named(each.title ?? each.id, "b") : this.walkButton(each.index, each.id, each.title)));
    at("path").replaceChildren(...steps.flatMap((each, k) => (k ? [html("span", { "aria-hidden": "true" }, "→"), each] : [each])));
    at("path").hidden = this.path.length < 2;
  }

  #forget() {
    this.edge = null;
    this.stage.reset();
  }

  /** In a file without a server: what is known of the prediction without an edge. */
  async #askWithout() {
    if (!this.about.shared) return;
    const edges = this.state.without.map((pair) => pair.join("-")).join(",");
    try {
      this.change = edges ? await ask("without", { node: this.state.node, edges }) : null;
    } catch (error) {
      this.change = null;
      this.state.without = [];
      this.fail(error);
    }
  }

  /** What the third lens shows takes a trial a node, so it is asked for when it is looked at. */
  async #askEffects() {
    if (this.state.lens !== "removal" || this.effects) return;
    const { around } = this, { sides } = around, { node, replica } = this.state;
    at("stage").setAttribute("aria-busy", "true");
    try {
      const pairs = sides.map(trials);
      const answers = await Promise.all(pairs.map((each) =>
        ask("removals", { node, replica, edges: each.map((pair) => pair.join("-")).join(","), ...changesOf(this.state) })));
      if (this.around === around) this.effects = sides.map((side, k) => byNode(side, pairs[k], answers[k].effects[k]));
    } catch (error) {
      if (this.around === around) this.fail(error);
    }
    if (this.around === around) at("stage").removeAttribute("aria-busy");
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
    const added = new Set(this.state.added.map((pair) => pairKey(...pair)));
    showAnswers(this, this.around, this.change, changeWords(this.state));
    const looks = sides.map((side, k) => {
      const look = seen(this.state.lens, side, views[k], this.effects?.[k]);
      return { ...look, groups: this.state.single ? null : groupsOf(side, look, views[k]) };
    });
    this.stage.show({
      sides, views, looks, gone, added, lens: this.state.lens, heading: this.heading(), titles: this.titles(),
      verdict: at("verdict").textContent,
    });
    showWhy(this, sides, gone);
    showSets(this);
    document.title = `${node.title ?? node.id} · agnn explore`;
    showChanges(this);
    showNear(this, sides, views, looks, gone);
    showRest(this, sides, looks);
    showLegend(this.marks, sides, looks);
    showControls(this.state, view);
    showEdge(this, sides[0], this.edge);
    this.showBetas();
  }

  heading() {
    const { node, hops, layer, lens, replica } = this.state;
    const what = lens !== "attention" ? lens : layer ? `attention of layer ${layer}` : "attention of all layers";
    const who = replica === null ? "mean of the replicas" : `replica ${replica + 1}`;
    const { without, added, dropped, betas } = this.state;
    const count = without.length + added.length + dropped.length;
    const beta = (betas ? `, beta ${betas.join(" and ")}` : "") + (count ? `, ${counted(count, "change")}` : "");
    return `${node} · ${this.about.data}, ${counted(hops, "hop")}, ${what}, ${who}${beta}`;
  }

  titles() {
    return this.about.runs.map((run) => run.title);
  }

  /** Show what the address says now. */
  async follow() {
    this.state = this.#linked();
    await this.first();
    await this.showHeat();
  }

  /** Another run is shown from now on, such as one that was retrained. */
  async refresh() {
    try {
      this.about = await ask("about");
      showFacts(this.about);
      this.cohorts.refresh();
      await this.map.refresh();
      await this.load();
      await this.showHeat();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Load; where the link's changes or its node are not known, say so over the model as it is or the map. */
  async first() {
    const { state } = this;
    for (const known of [{}, { without: [], added: [], dropped: [], betas: null }, { node: "", view: "map" }]) {
      const words = at("message").textContent;
      this.state = Object.assign(state, known);
      const isShown = await this.load();
      if (this.state !== state) return; // somebody went on meanwhile
      if (isShown && Object.keys(known).length) this.fail(new Error(words));
      if (isShown) return;
    }
  }
}

async function start() {
  keepToken();
  addEventListener("hashchange", () => keepToken() && location.reload()); // a newer link in this tab
  try {
    const page = new Page(await ask("about"));
    await page.first();
    await page.showHeat();
  } catch (error) {
    at("message").textContent = error.message;
    at("message").hidden = false;
    throw error;
  }
}

start();
