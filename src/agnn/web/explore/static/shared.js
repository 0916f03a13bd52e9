/** A page without a server: the same answers from a compressed table inside the page. */

import { at } from "./dom.js";
import { answerWith } from "./questions.js";

const KINDS = { u1: Uint8Array, u2: Uint16Array, i2: Int16Array, i4: Int32Array, f4: Float32Array };
const MOST_FOUND = 20;
const SERVED = "That takes a server: `agnn explore`.";

/** The table; its columns are read when they are asked for. */
class Answers {
  /** @param {ArrayBuffer} bytes */
  constructor(bytes) {
    const size = new DataView(bytes).getUint32(0, true);
    this.kept = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, size)));
    const column = ({ kind, at: place, count, unit }) => {
      const numbers = new KINDS[kind](bytes, 4 + size + place, count);
      return unit === 1 ? numbers : Float64Array.from(numbers, (each) => Number((each * unit).toFixed(6)));
    };
    const whole = (value) => (value?.kind && value.unit ? column(value)
      : Array.isArray(value) ? value.map(whole) : value);
    const all = (record) => Object.fromEntries(Object.entries(record).map(([key, value]) => [key, whole(value)]));
    this.nodes = { ...all(this.kept.nodes), runs: this.kept.nodes.runs.map(all) };
    this.edges = this.kept.edges.map((each) => joined(all(each)));
    this.sides = this.kept.sides.map((each) => begun(all(each), this.kept.about.classes.length - 1));
    this.where = new Map(Array.from(this.nodes.index, (index, k) => [index, k]));
    this.targets = new Map(this.kept.targets.map(({ index }, k) => [this.id(index), k]));
  }

  about = () => this.kept.about;
  map = () => this.kept.map;
  relevance = ({ run }) => ({ layers: this.kept.relevance[run] });
  cell = ({ run, layer, receiver, sender }) => this.kept.cells[`${run}-${layer}-${receiver}-${sender}`];

  cohort({ key }) {
    const found = this.kept.cohorts[key];
    if (!found) throw new Error("None of these nodes is in this file.");
    return { ...found, ids: found.nodes.map((node) => this.id(node)) };
  }

  around({ node }) {
    const number = this.#number(node);
    return { node: this.record(number), sides: this.sides.map((_, run) => this.#side(run, number)) };
  }

  /** The effect of each edge alone; null where it was not tried. */
  removals({ node, edges }) {
    const number = this.#number(node), { index } = this.kept.targets[number];
    const effects = this.sides.map((side, run) => {
      const before = this.#probabilities(run, number), answer = before.indexOf(Math.max(...before));
      return pairs(edges).map((pair) => {
        const after = this.#after(run, number, index, pair);
        return after && Number((before[answer] - after[answer]).toFixed(6));
      });
    });
    return { effects };
  }

  without({ node, edges }) {
    const number = this.#number(node), { index } = this.kept.targets[number], list = pairs(edges);
    const after = this.sides.map((_, run) => (list.length === 1 ? this.#after(run, number, index, list[0]) : null));
    if (after.includes(null)) throw new Error("This file has the removal of one edge at the node itself. For others: `agnn explore`.");
    return { before: this.sides.map((_, run) => this.#probabilities(run, number)), after };
  }

  /** As the server searches: this id, what begins with it, what contains it, then classes. */
  search({ q }) {
    const wanted = plain(q), lines = (this.lines ??= this.#lines());
    const rules = !wanted ? [() => true] : [
      ({ id }) => id === wanted, ({ text }) => text.startsWith(wanted),
      ({ title }) => title.startsWith(wanted), ({ text }) => text.includes(wanted),
      ...this.kept.about.classes.slice(0, -1).flatMap(({ name }, label) =>
        (plain(name).includes(wanted) ? [(line) => line.label === label] : [])),
    ];
    // Without a query, and within a class, those with the most neighbours come first.
    const found = new Set(rules.flatMap((rule, k) =>
      (wanted && k < 4 ? lines.byIndex : lines.byDegree).filter(rule).map(({ number }) => number)));
    return { nodes: [...found].slice(0, MOST_FOUND).map((number) => this.record(number)), is_all: found.size <= MOST_FOUND };
  }

  id = (index) => this.nodes.id[this.where.get(index)];

  /** One entry in a list of nodes. */
  record(number) {
    const own = this.kept.targets[number], k = this.where.get(own.index);
    return { ...own, id: this.nodes.id[k], label: this.nodes.label[k], degree: this.nodes.degree[k], ...this.#title(k) };
  }

  #title = (k) => (this.nodes.title?.[k] ? { title: this.nodes.title[k] } : {});

  #number(node) {
    const number = this.targets.get(node);
    if (number === undefined) throw new Error(`“${node}” is not in this file, which has ${this.targets.size.toLocaleString("en")} nodes. For all: \`agnn explore\`.`);
    return number;
  }

  #lines() {
    const byIndex = this.kept.targets.map(({ index }, number) => {
      const k = this.where.get(index), id = plain(this.nodes.id[k]), title = plain(this.nodes.title?.[k] ?? "");
      return { number, id, title, text: title ? `${id}\t${title}` : id, label: this.nodes.label[k], degree: this.nodes.degree[k] };
    });
    return { byIndex, byDegree: [...byIndex].sort((a, b) => b.degree - a.degree) };
  }

  #probabilities(run, number) {
    const { probabilities, classes } = this.sides[run];
    return [...probabilities.subarray(number * classes, (number + 1) * classes)];
  }

  /** The probabilities without one edge, or null where that was not computed. */
  #after(run, number, index, [a, b]) {
    const { after, tried, starts, classes } = this.sides[run];
    const place = a === index ? tried[number].indexOf(b) : b === index ? tried[number].indexOf(a) : -1;
    const begin = starts.after[number] + place * classes;
    return place < 0 ? null : [...after.subarray(begin, begin + classes)];
  }

  #side(run, number) {
    const side = this.sides[run], begin = side.starts.counts[number], end = begin + side.counts[number];
    const { layers } = this.nodes.runs[run], dots = [];
    for (let k = begin; k < end; k++) dots.push(this.#dot(run, k, layers));
    const links = this.#links(run, number, dots, layers);
    // Of a layer on its own: the row of the target.
    dots.forEach((dot, k) => dot.share.push(...(k === 0 ? dot.attention : Array(layers).fill(0))));
    for (const { ends: [a, b], attention } of links) if (a === 0) dots[b].share.splice(1, layers, ...attention[0]);
    return {
      probabilities: this.#probabilities(run, number), nodes: dots, links,
      left_out: side.left_out[number], elsewhere: side.elsewhere[number], farther: side.farther[number],
      why: this.#why(side.why[number]),
    };
  }

  #dot(run, k, layers) {
    const side = this.sides[run], place = side.node[k], own = this.nodes.runs[run], hop = side.hop[k];
    return {
      index: this.nodes.index[place], id: this.nodes.id[place], hop, parent: side.parent[k],
      label: this.nodes.label[place], answer: own.answer[place], confidence: own.confidence[place],
      is_train: own.is_train[place] === 1, place: [side.x[k], side.y[k]], share: [side.share[k]],
      contribution: side.contribution[k], radius: side.radius.map((each) => each[k]),
      attention: known(own.attention, place * layers, layers, hop),
      relevance: known(own.relevance, place * layers, layers, hop), ...this.#title(place),
    };
  }

  /** The edges among the nodes of a picture, in the order of their ends. */
  #links(run, number, dots, layers) {
    const edges = this.edges[run], side = this.sides[run];
    const position = new Map(dots.map(({ index }, k) => [index, k]));
    const found = dots.flatMap(({ index }, a) => (edges.beside.get(index) ?? [])
      .map(([other, edge]) => [a, position.get(other), edge]).filter(([, b]) => b > a));
    return found.map(([a, b, edge], k) => {
      const isTurned = dots[a].index > dots[b].index;
      const both = (values) => [a, b].map((end, way) =>
        known(values, (2 * edge + (isTurned ? 1 - way : way)) * layers, layers, dots[end].hop));
      const crossing = side.crossing.map((each) => (each[side.starts.links[number] + k] / 255) ** 2);
      return {
        ends: [a, b], attention: both(edges.attention), relevance: both(edges.relevance),
        crossing: [crossing.reduce((sum, each) => sum + each, 0), ...crossing],
        weight: edges.weight ? edges.weight[edge] : null,
      };
    });
  }

  #why(why) {
    if (!why) return null;
    const steps = why.steps.map((step) => {
      const features = step.features.map(([name, value]) => ({ name, value }));
      if (step.node === null) return { ...step, features };
      const k = this.where.get(step.node), id = this.nodes.id[k], title = this.nodes.title?.[k] || null;
      return { ...step, features, id, title, name: step.name ?? title ?? id };
    });
    return { ...why, steps };
  }
}

/** P or R by layer of a row at some hops from the target; null in layers whose row does not bear on it. */
const known = (values, begin, layers, hop) =>
  Array.from({ length: layers }, (_, t) => (hop <= layers - t - 1 ? values[begin + t] : null));

/** The edges by their ends, ascending, as the server lists them. */
function joined(edges) {
  const beside = new Map();
  const add = (from, to, edge) => beside.set(from, [...(beside.get(from) ?? []), [to, edge]]);
  edges.first.forEach((first, k) => {
    add(first, edges.second[k], k);
    add(edges.second[k], first, k);
  });
  for (const list of beside.values()) list.sort(([a], [b]) => a - b);
  return { ...edges, beside };
}

/** The pictures of a run with the places where each begins. */
function begun(side, classes) {
  const starts = (counts) => {
    let sum = 0;
    return Array.from(counts, (count) => (sum += count) - count);
  };
  return { ...side, classes, starts: {
    counts: starts(side.counts), links: starts(side.links), after: starts(side.tried.map((each) => classes * each.length)),
  } };
}

const pairs = (edges) => edges.split(",").filter(Boolean).map((pair) => pair.split("-").map(Number));

/** The text as it is compared: without case, with single spaces. */
const plain = (text) => text.toLowerCase().trim().split(/\s+/).join(" ");

async function opened() {
  const coded = at("answers-inside");
  const bytes = Uint8Array.from(atob(coded.textContent), (letter) => letter.charCodeAt(0));
  coded.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Answers(await new Response(stream).arrayBuffer());
}

const answers = opened();

answerWith(async (name, parameters) => {
  const found = await answers;
  if (!found[name] || name === "id" || name === "record") throw new Error(SERVED);
  return found[name](parameters);
});
