/** The pictures on the page: drawn to fit, zoomed and moved, pointed at and walked through by key. */

import { LATER, at, html, svg } from "./dom.js";
import { drawn, inks } from "./drawing.js";
import { Frame } from "./frame.js";
import { standalone } from "./save.js";
import { aboutDot, aboutLink, hideTip, showTip } from "./tip.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const tapAgain = (dot) => html("p", { class: "note" }, dot.dataset.dot === "0" ? "The target." : "Tap again to walk there.");

export class Stage {
  /**
   * @param {import("./types.js").Page} page
   */
  constructor(page) {
    this.page = page;
    /** @type {import("./types.js").Drawing & {marks: import("./types.js").Mark[]}} */
    this.what = LATER;
    this.zoom = 1;
    this.shift = [0, 0];
    this.dragged = false;
    /** @type {string|undefined} the node that a finger tapped last */
    this.touched = undefined;
    this.canvases = page.about.runs.map((run, k) => this.#figure(run, k));
    at("pictures").classList.toggle("two", this.canvases.length > 1);
    new ResizeObserver(() => this.draw()).observe(at("pictures"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** @param {import("./types.js").Drawing} what */
  show(what) {
    this.what = { ...what, marks: this.page.marks };
    this.draw();
  }

  draw() {
    if (!this.what || !at("pictures").offsetWidth) return;
    const focused = document.activeElement?.closest?.(".dot")?.getAttribute("data-node");
    const owner = document.activeElement?.closest?.("svg");
    const colours = inks();
    this.canvases.forEach((canvas, k) => {
      const { width, height } = canvas.getBoundingClientRect();
      const frame = new Frame(this.what.sides, width, height).look(this.zoom, this.shift);
      canvas.setAttribute("viewBox", `0 0 ${Math.round(width)} ${Math.round(height)}`);
      canvas.replaceChildren(drawn(this.what.sides[k], { ...this.what, look: this.what.looks[k], frame, colours }));
      canvas.setAttribute("aria-label", `${this.what.titles[k]}: ${this.what.heading}`);
      if (owner === canvas) this.#refocus(canvas, focused);
    });
  }

  /** After a walk the node that had the focus is the target, or gone. */
  #refocus(canvas, node) {
    const same = canvas.querySelector(`[data-node="${node}"]`);
    (same ?? canvas.querySelector("[data-dot='0']")).focus({ preventScroll: true });
  }

  /** Zoom and move nothing; seen when the next picture is drawn. */
  reset() {
    this.zoom = 1;
    this.shift = [0, 0];
  }

  fit() {
    this.reset();
    this.draw();
  }

  /** @param {number} factor */
  magnify(factor) {
    this.zoom = Math.min(12, Math.max(0.4, this.zoom * factor));
    this.draw();
  }

  /** The view as a picture of its own. */
  copy() {
    return standalone(this.what);
  }

  #figure(run, k) {
    // Chromium would stop at an SVG that listens for the focus, as this does for its nodes.
    const canvas = svg("svg", { class: "canvas", role: "group", "data-side": k, tabindex: -1 });
    const caption = html("figcaption", { class: this.page.about.runs.length < 2 ? "hidden" : null }, run.title);
    at("pictures").append(html("figure", {}, caption, canvas));
    canvas.addEventListener("pointermove", (event) => this.#point(event, k));
    canvas.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hideTip());
    canvas.addEventListener("focusin", (event) => this.#focus(event, k));
    canvas.addEventListener("focusout", hideTip);
    canvas.addEventListener("click", (event) => this.#click(event, k));
    canvas.addEventListener("keydown", (event) => this.#key(event, k));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.#draggable(canvas);
    return canvas;
  }

  #point(event, k) {
    if (event.pointerType === "touch") return;
    const dot = event.target.closest("[data-dot]"), link = event.target.closest("[data-link]");
    if (dot) showTip(this.#aboutDot(dot, k), event.clientX, event.clientY);
    else if (link) {
      const about = aboutLink(this.what.sides[k], Number(link.dataset.link), this.what.views[k]);
      showTip(about, event.clientX, event.clientY);
    } else hideTip();
  }

  #focus(event, k) {
    const dot = event.target.closest("[data-dot]");
    if (!dot || !dot.matches(":focus-visible")) return;
    const box = dot.getBoundingClientRect();
    showTip(this.#aboutDot(dot, k), box.right, box.bottom);
  }

  #aboutDot(dot, k) {
    const place = Number(dot.dataset.dot);
    return aboutDot(this.page, this.what.sides[k], place, this.what.views[k], this.what.looks[k]);
  }

  #click(event, k) {
    if (this.dragged) return;
    const dot = event.target.closest("[data-dot]"), link = event.target.closest("[data-link]");
    const side = this.what.sides[k];
    // A finger has no way to point: its first tap tells about a node, the second walks there.
    const isFirst = dot && event.pointerType === "touch" && this.touched !== dot.dataset.node;
    this.touched = dot?.dataset.node;
    if (isFirst) {
      showTip([...this.#aboutDot(dot, k), tapAgain(dot)], event.clientX, event.clientY);
    } else if (dot && dot.dataset.dot !== "0") {
      hideTip();
      this.page.walk(side.nodes[Number(dot.dataset.dot)].id);
    } else if (link) this.page.pick(side, side.links[Number(link.dataset.link)]);
  }

  #key(event, k) {
    const here = event.target.closest("[data-dot]");
    if (!here || event.altKey || event.ctrlKey || event.metaKey) return;
    const side = this.what.sides[k], place = Number(here.dataset.dot), dot = side.nodes[place];
    if (ARROWS[event.key]) this.#step(event.currentTarget, here, ARROWS[event.key]);
    else if (event.key === "Enter" || event.key === " ") place && this.page.walk(dot.id);
    else if (event.key === "Delete") place && this.page.toggle([dot.index, side.nodes[dot.parent].index]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Move the focus to the nearest node in a direction: what lies askew counts as farther away. */
  #step(canvas, from, [dx, dy]) {
    const { e: x, f: y } = from.getCTM(), dots = [...canvas.querySelectorAll("[data-dot]")];
    let next = from, least = Infinity;
    for (const dot of dots) {
      const { e, f } = dot.getCTM(), along = (e - x) * dx + (f - y) * dy;
      const askew = Math.abs((e - x) * dy) + Math.abs((f - y) * dx);
      if (along > 1e-3 && along + 2.5 * askew < least) [next, least] = [dot, along + 2.5 * askew];
    }
    dots.forEach((each) => each.setAttribute("tabindex", "-1"));
    next.setAttribute("tabindex", "0");
    next.focus();
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    this.magnify(Math.exp(-event.deltaY / 300));
  }

  #draggable(canvas) {
    /** @type {number[]|null} */
    let last = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button) return; // a finger scrolls the page
      last = [event.clientX, event.clientY];
      this.dragged = false;
    });
    addEventListener("pointermove", (event) => {
      if (!last) return;
      const step = [event.clientX - last[0], event.clientY - last[1]];
      if (!this.dragged && Math.hypot(...step) < 4) return;
      this.dragged = true;
      this.shift = this.shift.map((each, k) => each + step[k] / this.zoom);
      last = [event.clientX, event.clientY];
      this.draw();
    });
    addEventListener("pointerup", () => (last = null));
  }
}
