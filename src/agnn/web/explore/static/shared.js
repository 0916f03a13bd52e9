/** A page without a server: the same answers, looked up in a compressed file inside the page. */

import { START } from "./link.js";
import { answerWith } from "./questions.js";
import { isInWidget, tellWidget } from "./widget.js";

const MOST_FOUND = 20;

/** The answers by question; a line of them is read when one of them is asked for. */
export class Answers {
  /** @param {string} text the questions of every line as one line of JSON, then the lines */
  constructor(text) {
    const [questions, ...lines] = text.split("\n");
    this.lines = lines;
    this.where = new Map(JSON.parse(questions).flatMap((batch, line) => batch.map((question, k) => [question, { line, k }])));
    this.read = new Map(); // the lines that were read
    this.nodes = this.#find("nodes");
  }

  about = () => ({ ...this.#find("about"), is_labelling: isInWidget() });
  labels = () => tellWidget({ asked: "labels" });
  map = () => this.#find("map");
  relevance = ({ run }) => this.#find(`relevance ${run}`);
  cell = ({ run, layer, receiver, sender }) => this.#find(`cell ${run}-${layer}-${receiver}-${sender}`);
  cohort = ({ key }) => this.#find(`cohort ${key}`) ?? refuse("None of these nodes is in this file.");
  around = ({ node }) => this.#find(`around ${node}`)
    ?? refuse(`“${node}” is not in this file, which has ${this.nodes.length.toLocaleString("en")} nodes. For all: \`agnn explore\`.`);

  set = ({ node, coverage }) => (coverage === START.coverage ? this.#find(`set ${node}`) : refuse("This file has the sets at 90 %. For others: `agnn explore`."));

  /** The effect of each edge alone; null where it was not tried. */
  removals({ node, edges }) {
    const known = this.#find(`removals ${node}`);
    const effects = this.about().runs.map((_, run) => edges.split(",").filter(Boolean)
      .map((edge) => known.effects[known.edges.indexOf(ascending(edge))]?.[run] ?? null));
    return { effects };
  }

  /** The probabilities of every run with all edges, and without one. */
  without({ node, edges }) {
    const known = this.#find(`removals ${node}`), after = known.after[known.edges.indexOf(ascending(edges))] ?? [null];
    if (after.includes(null)) refuse("This file has the removal of one edge at the node itself. For others: `agnn explore`.");
    return { before: this.around({ node }).sides.map((side) => side.probabilities), after };
  }

  /** As the server searches: this id, what begins with it, what contains it, then classes. */
  search({ q }) {
    const wanted = plain(q);
    const byIndex = this.nodes.map((node) => {
      const id = plain(node.id), title = plain(node.title ?? "");
      return { node, id, title, text: title ? `${id}\t${title}` : id };
    });
    const byDegree = [...byIndex].sort((a, b) => b.node.degree - a.node.degree);
    // Without a query, and within a class, those with the most neighbours come first.
    const lists = !wanted ? [byDegree] : [
      byIndex.filter(({ id }) => id === wanted), byIndex.filter(({ text }) => text.startsWith(wanted)),
      byIndex.filter(({ title }) => title.startsWith(wanted)), byIndex.filter(({ text }) => text.includes(wanted)),
      ...this.about().classes.slice(0, -1).flatMap(({ name }, label) =>
        (plain(name).includes(wanted) ? [byDegree.filter(({ node }) => node.label === label)] : [])),
    ];
    const found = new Set(lists.flat().map(({ node }) => node));
    return { nodes: [...found].slice(0, MOST_FOUND), is_all: found.size <= MOST_FOUND };
  }

  #find(question) {
    const place = this.where.get(question);
    if (!place) return null;
    const { line, k } = place;
    if (!this.read.has(line)) this.read.set(line, JSON.parse(this.lines[line]));
    return item(this.read.get(line), k);
  }
}

function refuse(message) {
  throw new Error(message);
}

/** A JSON value with its columns as lists again. */
export function plainValue(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value) || value.columns || value.lengths) return Array.from({ length: size(value) }, (_, k) => item(value, k));
  return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, plainValue(inside)]));
}

/** The item at a place of a list, which may be columns, or lists of several lengths joined to one. */
function item(list, k) {
  if (Array.isArray(list)) return plainValue(list[k]);
  const { columns, lengths, joined } = list;
  if (Array.isArray(columns)) return columns.map((column) => item(column, k));
  if (columns) return Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, item(column, k)]));
  let sum = 0;
  list.starts ??= lengths.map((length) => (sum += length) - length);
  return Array.from({ length: lengths[k] }, (_, j) => item(joined, list.starts[k] + j));
}

const size = (list) => (list.columns ? size(Object.values(list.columns)[0]) : (list.lengths ?? list).length);

const ascending = (edge) => edge.split("-").sort((a, b) => a - b).join("-");

/** The text as it is compared: without case, with single spaces. */
const plain = (text) => text.toLowerCase().trim().split(/\s+/).join(" ");

async function opened(coded) {
  const bytes = Uint8Array.from(atob(coded.textContent), (letter) => letter.charCodeAt(0));
  coded.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Answers(await new Response(stream).text());
}

/** Answer the questions of this page from the file inside it. */
export function answerFromPage() {
  const answers = opened(document.getElementById("answers-inside"));
  answerWith(async (name, parameters) => {
    const known = await answers;
    return known[name] ? known[name](parameters) : refuse("That takes a server: `agnn explore`.");
  }, (name, body) => tellWidget({ sent: name, ...body }));
}
