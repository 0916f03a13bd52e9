/** A cohort that is worked through in label mode: suspicious labels, or what to label next. */

import { at } from "./dom.js";
import { counted } from "./words.js";

export const NEXT = "next"; // the cohort of suggestions

export class Queue {
  /** @param {import("./types.js").Page} page @param {import("./labelling.js").Labelling} labelling */
  constructor(page, labelling) {
    this.page = page;
    this.labelling = labelling;
    at("queue-keep").addEventListener("click", () => this.keep());
    at("queue-take").addEventListener("click", () => this.take());
    at("queue-next").addEventListener("click", () => this.nextBatch());
  }

  /** The chosen cohort, if its nodes come with a proposed class. */
  #cohort() {
    const { now } = this.page.cohorts;
    return now?.proposed ? now : null;
  }

  /** The node that is shown, if it is in the queue: its place, its label (-1: none), the class that is proposed. */
  #shown() {
    const cohort = this.#cohort(), node = this.page.settledNode();
    if (!cohort || !node) return null;
    const place = cohort.nodes.indexOf(node.index);
    return place < 0 ? null : { place, label: node.label, proposed: cohort.proposed[place] };
  }

  /** Confirm the label that the node has. */
  keep = () => {
    const shown = this.#shown();
    if (shown && shown.label >= 0) this.labelling.give(shown.label);
  };

  /** Give the node the class that is proposed. */
  take = () => {
    const shown = this.#shown();
    if (shown) this.labelling.give(shown.proposed);
  };

  /** Suggest nodes, those that have been labelled here left out, and go to the first. */
  nextBatch = async () => {
    const { page } = this;
    page.cohorts.forget();
    at("label-kept").textContent = "Choosing the nodes to label next …";
    const isThere = await page.cohort(NEXT);
    at("label-kept").textContent = "";
    if (isThere) this.advance();
  };

  /** Whether a node that was just labelled or undone is in the queue. @param {number} index */
  holds = (index) => this.#cohort()?.nodes.includes(index) ?? false;

  /** Go to the next node of the queue that was given no class; at the end say so. */
  advance() {
    const cohort = this.#cohort();
    if (!cohort) return;
    const { nodes, ids } = cohort, here = this.#shown()?.place ?? -1, { classes } = this.labelling;
    const order = nodes.map((_, k) => (here + 1 + k) % nodes.length);
    const next = order.find((k) => !classes.has(nodes[k]));
    if (next !== undefined) this.page.walk(ids[next]);
    else at("label-kept").textContent += ` All ${nodes.length} are done: retrain${cohort.key === NEXT ? ", or take the next batch" : ""}.`;
  }

  /** What can be done with one key for the node that is shown. */
  show() {
    const { marks } = this.page, cohort = this.#cohort(), shown = this.#shown();
    at("queue").hidden = !cohort;
    at("queue-next").textContent = cohort?.key === NEXT ? "Next batch" : "What to label next";
    if (!cohort) return;
    const done = cohort.nodes.filter((node) => this.labelling.classes.has(node)).length;
    at("queue-done").textContent = `${done} of ${counted(cohort.nodes.length, "node")} done${shown ? "" : "; Next (n) goes to the first"}.`;
    const { label, proposed } = shown ?? { label: -1, proposed: -1 };
    at("queue-keep").hidden = label < 0;
    at("queue-take").hidden = proposed < 0 || proposed === label;
    at("queue-kept-class").textContent = label < 0 ? "" : marks[label].name;
    at("queue-taken-class").textContent = proposed < 0 ? "" : marks[proposed].name;
  }
}
