/** Label mode: give nodes a class, undo it, and retrain with the labels while the page goes on. */

import { dotOf } from "./answers.js";
import { LATER, at, button, html } from "./dom.js";
import { ask, send } from "./questions.js";
import { Queue } from "./queue.js";
import { download } from "./save.js";
import { hearLabels } from "./widget.js";
import { counted } from "./words.js";

const PAUSE = 400; // milliseconds between questions about a training
const FEW = 12; // nodes that are given a class without a word about how many

export class Labelling {
  /** @param {import("./types.js").Page} page */
  constructor(page) {
    this.page = page;
    /** @type {Map<number, number>} by node index */
    this.classes = new Map();
    /** @type {import("./types.js").Labels} */
    this.labels = LATER;
    /** @type {import("./types.js").Training} */
    this.training = LATER;
    this.timer = 0;
    this.version = 0; // of the run that is shown
    this.queue = new Queue(page, this);
    at("label-card").hidden = false;
    at("label-classes").replaceChildren(...page.marks.slice(0, -1).map((mark, k) => button(
      html("span", {}, dotOf(mark), mark.name), () => this.give(k), { "aria-pressed": "false", title: k < 9 ? `${mark.name} (l, then ${k + 1})` : mark.name })));
    at("label-classes").addEventListener("keydown", (event) => this.#key(event));
    at("label-undo").addEventListener("click", () => this.undo());
    at("label-csv").addEventListener("click", () => this.#export());
    at("label-train").addEventListener("click", () => this.#train("start"));
    at("label-cancel").addEventListener("click", () => this.#train("cancel"));
    at("label-other").addEventListener("click", () => this.#showOther());
    document.querySelectorAll(".label-key").forEach((each) => each.removeAttribute("hidden"));
    if (page.about.shared) hearLabels((labels) => this.#take(labels));
    this.#ask();
  }

  /** What the class would be given to: the node that is shown, or the cohort on the map. */
  #chosen() {
    const { page } = this;
    if (page.state.view === "node") return page.settledNode() ? [page.around.node.index] : [];
    return page.cohorts.now?.nodes ?? [];
  }

  focus = () => at("label-classes").querySelector("button:not(:disabled)")?.focus();

  #key(event) {
    const all = [...at("label-classes").querySelectorAll("button")], here = all.indexOf(event.target);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (step) all[(here + step + all.length) % all.length].focus();
    else if (/^[1-9]$/.test(event.key)) all[Number(event.key) - 1]?.click();
    else return;
    event.preventDefault();
    event.stopPropagation(); // digits are hops elsewhere
  }

  async #ask() {
    try {
      this.#take(await ask("labels"));
    } catch (error) {
      this.page.fail(error);
    }
  }

  /** Give the class to what is chosen, and go on where that is a node of the queue. @param {number} label */
  async give(label) {
    const nodes = this.#chosen(), { marks } = this.page;
    if (!nodes.length) return;
    try {
      this.#take(await send("labels", { nodes, label }));
      const who = nodes.length === 1 ? this.#name(nodes[0]) : counted(nodes.length, "node");
      at("label-kept").textContent = `Kept: ${who} as ${marks[label].name}.`;
      if (nodes.length === 1 && this.queue.holds(nodes[0])) this.queue.advance();
    } catch (error) {
      at("label-kept").textContent = `Not kept: ${error.message}`;
    }
  }

  #name(index) {
    const { around } = this.page, given = this.labels.latest.find((each) => each.index === index);
    return around && around.node.index === index ? around.node.title ?? around.node.id : given?.name ?? `#${index}`;
  }

  undo = async () => {
    const last = this.labels?.latest[0];
    if (!last) return;
    try {
      this.#take(await send("labels/undo", {}));
      at("label-kept").textContent = `Undone: ${last.count === 1 ? last.name : counted(last.count, "node")} as ${this.page.marks[last.label].name}.`;
      if (last.count === 1 && this.queue.holds(last.index)) this.page.walk(last.id);
    } catch (error) {
      at("label-kept").textContent = `Not undone: ${error.message}`;
    }
  };

  async #export() {
    try {
      const table = new Blob([await ask("labels.csv")], { type: "text/csv" });
      download(table, `${this.labels.file.replace(/\.jsonl$/, "")}.csv`);
    } catch (error) {
      this.page.fail(error);
    }
  }

  #take(labels) {
    this.labels = labels;
    this.classes = new Map(labels.nodes.map((node, k) => [node, labels.classes[k]]));
    if (labels.training) this.#follow(labels.training);
    this.show();
    this.page.map.draw();
  }

  async #train(action) {
    try {
      this.#follow(await send("training", { action }));
    } catch (error) {
      at("label-said").textContent = error.message;
    }
  }

  async #showOther() {
    try {
      this.#follow(await send("shown", { run: this.training.shown === "original" ? "retrained" : "original" }));
    } catch (error) {
      at("label-said").textContent = error.message;
    }
  }

  /** Show how the training is, and ask again while it runs. */
  #follow(training) {
    this.training = training;
    clearTimeout(this.timer);
    if (training.is_running) {
      this.timer = setTimeout(async () => {
        try {
          this.#follow(await ask("training"));
        } catch (error) {
          at("label-said").textContent = error.message;
        }
      }, PAUSE);
    }
    const isOther = training.version !== this.version;
    this.version = training.version;
    this.#showTraining();
    if (isOther) this.page.refresh();
  }

  #showTraining() {
    const { is_running: isRunning, done, total, said, result, shown } = this.training;
    const wasFocused = document.activeElement === at("label-train") || document.activeElement === at("label-cancel");
    at("label-running").hidden = !isRunning;
    at("label-train").hidden = isRunning;
    if (wasFocused) at(isRunning ? "label-cancel" : "label-train").focus();
    const bar = at("label-bar");
    if (isRunning && total) {
      bar.max = total;
      bar.value = done;
    } else bar.removeAttribute("value");
    if (isRunning) at("label-said").textContent = total ? `Training: epoch ${done.toLocaleString("en")} of ${total.toLocaleString("en")}.` : "Training begins …";
    else at("label-said").textContent = said ?? (result ? `Trained with ${counted(result.labels, "label")}; written to ${result.folder}.` : "");
    at("label-result").hidden = !result;
    at("label-other").hidden = !result || isRunning;
    at("label-other").textContent = shown === "original" ? "Show the retrained run" : "Show the original run";
    if (result) at("label-table").replaceChildren(...resultRows(result));
  }

  /** What the card says about the node or the cohort that is chosen. */
  show() {
    const nodes = this.#chosen(), { page } = this;
    const given = nodes.length === 1 ? this.classes.get(nodes[0]) : undefined;
    const isNode = page.state.view === "node";
    at("label-what").textContent = isNode
      ? given === undefined ? "Give this node a class:" : `You gave this node the class ${page.marks[given].name}.`
      : nodes.length ? `Give ${nodes.length > FEW ? "all " : ""}${counted(nodes.length, "node")} of the cohort a class:`
        : "Choose a cohort, circle nodes (Shift and drag), or walk to a node to give a class.";
    [...at("label-classes").children].forEach((each, k) => {
      each.disabled = !nodes.length;
      each.setAttribute("aria-pressed", String(k === given));
    });
    this.queue.show();
    const count = this.classes.size, { latest = [], file = "" } = this.labels ?? {};
    at("label-count").textContent = `${counted(count, "label")}, kept in ${file}.`;
    at("label-list").replaceChildren(...latest.map((each) => html("li", {}, dotOf(page.marks[each.label]),
      page.walkButton(each.index, each.id, each.name), each.count > 1 ? ` and ${each.count - 1} more` : "")));
    at("label-undo").disabled = at("label-train").disabled = !latest.length;
    at("label-csv").hidden = !count;
  }
}

/** Before and after, as rows of a table. */
function resultRows({ accuracy, test, cohorts }) {
  const percent = ({ mean, standard_error: error, n }) => `${mean.toFixed(1)}${error === null || n < 2 ? "" : ` ± ${error.toFixed(1)}`} %`;
  const row = (name, before, after) => html("tr", {}, html("th", { scope: "row" }, name),
    html("td", { class: "number" }, before), html("td", { class: "number" }, after));
  return [
    html("caption", {}, `Accuracy on the ${counted(test, "test node")} of both runs, and the nodes of cohorts`),
    html("thead", {}, html("tr", {}, html("td"), ...["before", "now"].map((word) => html("th", { scope: "col", class: "number" }, word)))),
    html("tbody", {}, row("Accuracy", ...accuracy.map(percent)),
      ...cohorts.map(([name, before, now]) => row(name, before.toLocaleString("en"), (now ?? 0).toLocaleString("en")))),
  ];
}
