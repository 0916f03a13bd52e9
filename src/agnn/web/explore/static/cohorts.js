/** Nodes that are worth a look: chosen by name, by a cell of the confusion matrix or by lasso, and walked through. */

import { dotOf } from "./answers.js";
import { at, button, html } from "./dom.js";
import { ask } from "./questions.js";
import { NEXT } from "./queue.js";
import { counted } from "./words.js";

export class CohortBar {
  /** @param {import("./types.js").Page} page */
  constructor(page) {
    this.page = page;
    this.now = null; // the chosen cohort with its nodes
    at("who").addEventListener("change", () => page.cohort(at("who").value));
    at("previous").addEventListener("click", () => this.step(-1));
    at("next").addEventListener("click", () => this.step(1));
    this.refresh();
  }

  /** Offer the cohorts of the run that is shown, and forget what is known of another. */
  refresh() {
    const { cohorts } = this.page.about;
    if (this.now?.key !== "lasso") this.forget();
    at("who").replaceChildren(html("option", { value: "" }, "all nodes"),
      ...cohorts.map(({ key, title, count }) => html("option", { value: key }, `${title} (${count.toLocaleString("en")})`)),
      ...(this.page.canSuggest ? [html("option", { value: NEXT }, "What to label next")] : []));
    at("cohort-list").replaceChildren(...cohorts.map(({ key, title, about, count }) =>
      html("li", {}, button(title, () => this.page.cohort(key), { class: "walk", title: about }), " ",
        html("b", {}, count.toLocaleString("en")), html("small", {}, about))));
    this.#confusion();
  }

  /** Ask for the cohort again when it is next shown. */
  forget() {
    this.now = null;
  }

  /** Show the cohort that the link names. */
  async follow() {
    const key = this.page.state.cohort;
    if (!key && this.now?.key === "lasso") return this.show(); // it has no name, so no link has it
    if (key !== (this.now?.key ?? "")) {
      try {
        const isNext = key === NEXT && this.page.canSuggest;
        this.now = isNext ? await ask("suggestions") : key ? await ask("cohort", { key }) : null;
      } catch (error) {
        this.now = null;
        this.page.state.cohort = "";
        this.page.fail(error);
      }
      this.page.map.highlight(this.now?.nodes ?? null);
    }
    return this.show();
  }

  /** A cohort that was circled; null for none. */
  choose(circled) {
    if (circled && !circled.nodes.length) return;
    this.page.state.cohort = "";
    this.now = circled && { key: "lasso", title: "Circled", about: "Circled on the map.", count: circled.nodes.length, ...circled };
    this.page.map.highlight(circled?.nodes ?? null);
    this.show();
  }

  show() {
    const { now } = this, here = now ? now.ids.indexOf(this.page.shownNode()) : -1;
    const isListed = now && [...at("who").options].some(({ value }) => value === now.key);
    at("who").value = isListed ? now.key : "";
    at("differ").textContent = now ? `${isListed ? "" : `${now.title}: ${counted(now.count, "node")}. `}${now.about}` : "";
    at("which").textContent = !now ? "" : `${here < 0 ? "–" : here + 1} of ${now.ids.length.toLocaleString("en")}`;
    at("previous").disabled = at("next").disabled = !now?.ids.length;
    at("reason").textContent = (here >= 0 && now?.reasons?.[here]) || "";
    this.page.labelling?.show();
    at("cells").querySelectorAll("button").forEach((each) =>
      each.setAttribute("aria-pressed", String(each.dataset.key === now?.key)));
  }

  step(by) {
    const list = this.now?.ids ?? [], here = list.indexOf(this.page.shownNode());
    if (!list.length) return;
    this.page.walk(list[here < 0 ? (by > 0 ? 0 : list.length - 1) : (here + by + list.length) % list.length]);
  }

  /** The confusion matrix as buttons: rows are true classes, columns predicted ones. */
  #confusion() {
    const { confusion } = this.page.about, marks = this.page.marks.slice(0, -1);
    const wrong = Math.max(1, ...confusion.flatMap((row, i) => row.filter((_, j) => i !== j)));
    const head = html("tr", {}, html("td"), ...marks.map((mark) =>
      html("th", { scope: "col", title: mark.name }, dotOf(mark), html("span", { class: "hidden" }, mark.name))));
    const rows = confusion.map((row, i) => html("tr", {},
      html("th", { scope: "row", title: marks[i].name }, dotOf(marks[i]), html("span", {}, marks[i].name)),
      ...row.map((count, j) => {
        const key = `cell-${i}-${j}`, words = `${counted(count, "node")} of ${marks[i].name} predicted as ${marks[j].name}`;
        const made = button(count.toLocaleString("en"), () => this.page.cohort(this.now?.key === key ? "" : key),
          { "aria-label": words, title: words, "aria-pressed": "false", "data-key": key });
        made.className = i === j ? "own" : "less";
        made.style.setProperty("--strength", `${i === j ? 14 : Math.round((55 * count) / wrong)}%`);
        return html("td", {}, made);
      })));
    at("cells").replaceChildren(
      html("thead", {}, head), html("tbody", {}, ...rows));
  }
}
