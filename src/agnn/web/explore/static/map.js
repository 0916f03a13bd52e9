/** All nodes as points on a canvas: coloured, zoomed, moved, pointed at, circled with a lasso. */

import { dotOf } from "./answers.js";
import { LATER, at, html } from "./dom.js";
import { inks } from "./drawing.js";
import { ask } from "./questions.js";
import { hideTip, showTip } from "./tip.js";
import { counted, precise } from "./words.js";

const NEAR = 9; // pixels within which a point is meant
const ROOM = 24; // pixels around all points
const SPLITS = ["in no part", "training", "validation", "test"];
const PARTS = ["#8a949e", "#d55e00", "#009e73", "#0072b2"];
const EMPTY = ""; // no label: a point without a fill, as in the neighbourhood

/** What the points can be coloured by. */
const COLOURS = {
  prediction: "prediction", truth: "label", error: "right or wrong",
  confidence: "confidence", disagreement: "disagreement of the replicas", split: "part of the split",
};

export class GraphMap {
  /** @param {import("./types.js").Page} page */
  constructor(page) {
    this.page = page;
    this.canvas = at("map-canvas");
    this.zoom = 1;
    this.shift = [0, 0];
    /** @type {ReturnType<typeof unpacked>} */
    this.points = LATER;
    /** @type {Set<number>|null} indices that stand out; null: all */
    this.members = null;
    /** @type {number[][]|null} places on the canvas */
    this.lasso = null;
    this.touched = -1; // the point that a finger tapped last
    this.#listen();
  }

  /** Ask for the points once, then draw. */
  async show() {
    if (!this.points) {
      try {
        this.points = unpacked(await ask("map"));
      } catch (error) {
        this.page.fail(error);
        return;
      }
      at("map-colour").replaceChildren(...Object.entries(COLOURS).map(([value, name]) => html("option", { value }, name)));
      const { how, count, of } = this.points;
      at("map-about").textContent = count < of
        ? `The training nodes and a random sample: ${counted(count, "node")} of ${of.toLocaleString("en")}; ${how} of the predictions.`
        : `${counted(count, "node")}; ${how} of the predictions: nodes that the replicas predict alike lie together.`;
    }
    at("map-colour").value = this.page.state.colour;
    this.#legend();
    this.draw();
    performance.mark("agnn-map");
  }

  /** The nodes that stand out: those of a cohort, by index; null for all. */
  highlight(nodes) {
    this.members = nodes && new Set(nodes);
    if (this.page.state.view === "map") this.draw();
  }

  draw() {
    const { canvas, points } = this;
    const box = canvas.getBoundingClientRect();
    if (!points || !box.width) return;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(box.width * ratio) || canvas.height !== Math.round(box.height * ratio)) {
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
    }
    const paper = canvas.getContext("2d");
    paper.setTransform(ratio, 0, 0, ratio, 0, 0);
    paper.clearRect(0, 0, box.width, box.height);
    this.#place(box.width, box.height);
    this.#dots(paper, box);
    points.where ??= new Map(Array.from(points.nodes, (node, k) => [node, k]));
    this.#labels(paper);
    this.#path(paper);
  }

  /** Where every point is on the screen. */
  #place(width, height) {
    const { points } = this, { middle, spread } = points;
    // A layout has no up and down: its longer side lies along the longer one of the screen.
    const [a, b] = (spread[0] < spread[1]) === (width < height) ? [0, 1] : [1, 0];
    const scale = this.zoom * Math.min((width - ROOM) / spread[a], (height - ROOM) / spread[b]);
    const left = width / 2 + this.shift[0] - scale * middle[a];
    const top = height / 2 + this.shift[1] - scale * middle[b];
    for (let k = 0; k < points.count; k++) {
      points.x[k] = left + scale * points.places[2 * k + a];
      points.y[k] = top + scale * points.places[2 * k + b];
    }
  }

  #dots(paper, { width, height }) {
    const { points, members } = this, groups = this.#groups();
    const size = Math.min(7, Math.max(2, (points.count > 5000 ? 2.2 : 4) * Math.sqrt(this.zoom)));
    const isOut = (k) => members && !members.has(points.nodes[k]);
    // What does not stand out lies below, and is faint.
    for (const level of members ? [0, 1] : [1]) {
      paper.globalAlpha = level ? 0.85 : 0.16;
      const side = members && level ? 1.6 * size : size;
      for (const [colour, list] of groups) {
        paper.fillStyle = colour;
        paper.strokeStyle = inks().faint;
        paper.lineWidth = 1;
        for (const k of list) {
          const x = points.x[k], y = points.y[k];
          if (x < 0 || y < 0 || x > width || y > height || (members && isOut(k) === Boolean(level))) continue;
          if (colour === EMPTY) paper.strokeRect(x - side / 2, y - side / 2, side, side);
          else paper.fillRect(x - side / 2, y - side / 2, side, side);
        }
      }
    }
    paper.globalAlpha = 1;
  }

  /** The points by their colour; made again when the question changes. */
  #groups() {
    const { points } = this, { colour } = this.page.state;
    if (points.grouped?.colour === colour) return points.grouped.groups;
    const groups = new Map(), colours = inks();
    for (let k = 0; k < points.count; k++) {
      const own = hue(colour, points, k, this.page.marks, colours);
      if (!groups.has(own)) groups.set(own, []);
      groups.get(own).push(k);
    }
    points.grouped = { colour, groups };
    return groups;
  }

  /** The nodes that were given a class, as rings in its colour. */
  #labels(paper) {
    const { points, page } = this;
    for (const [node, label] of page.labelling?.classes ?? []) {
      const k = points.where.get(node);
      if (k === undefined) continue;
      paper.beginPath();
      paper.arc(points.x[k], points.y[k], 5, 0, 7);
      paper.fillStyle = page.marks[label].colour;
      paper.fill();
      paper.strokeStyle = inks().ink;
      paper.lineWidth = 2;
      paper.stroke();
    }
  }

  /** Another run is shown: ask for the points again. */
  async refresh() {
    this.points = LATER;
    if (this.page.state.view === "map") await this.show();
  }

  /** The nodes walked through, and the one that is shown now. */
  #path(paper) {
    const { points } = this, colours = inks();
    const steps = this.page.path.map(({ index }) => points.where.get(index)).filter((k) => k !== undefined);
    paper.strokeStyle = colours.ink;
    paper.lineWidth = 1.5;
    paper.beginPath();
    steps.forEach((k, n) => paper[n ? "lineTo" : "moveTo"](points.x[k], points.y[k]));
    paper.stroke();
    steps.forEach((k, n) => {
      paper.beginPath();
      paper.arc(points.x[k], points.y[k], n === steps.length - 1 ? 8 : 4, 0, 7);
      paper.stroke();
    });
    if (this.lasso && this.lasso.length > 1) {
      paper.setLineDash([5, 4]);
      paper.beginPath();
      this.lasso.forEach(([x, y], n) => paper[n ? "lineTo" : "moveTo"](x, y));
      paper.stroke();
      paper.setLineDash([]);
    }
  }

  #legend() {
    const { colour } = this.page.state, marks = this.page.marks.slice(0, -1);
    const key = (hex, name) => {
      const box = html("span", { class: hex === EMPTY ? "hue empty" : "hue" });
      if (hex !== EMPTY) box.style.background = hex;
      return html("li", {}, box, name);
    };
    const ramp = [0.3, 0.6, 0.9];
    const items = {
      prediction: () => marks.map((mark) => key(mark.colour, mark.name)),
      truth: () => [...marks.map((mark) => key(mark.colour, mark.name)), key(EMPTY, "no label")],
      error: () => [key(inks().line, "right"), key(inks().alarm, "wrong"), key(EMPTY, "no label")],
      confidence: () => ramp.map((value) => key(shade(value), `${100 * value} %`)),
      disagreement: () => [0, 0.3, 0.6].map((value) => key(shade(value), `${100 * value} %`)),
      split: () => SPLITS.map((name, k) => key(PARTS[k], name)),
    };
    at("map-legend").replaceChildren(...items[colour]());
    const hues = new Set(marks.map((mark) => mark.colour)).size;
    if (hues < marks.length && (colour === "prediction" || colour === "truth")) {
      at("map-legend").append(html("li", { class: "note" }, `${marks.length} classes share ${hues} colours: point at a node to see its class.`));
    }
  }

  #listen() {
    const { canvas } = this;
    /** @type {number[]|null} */
    let last = null;
    let moved = false, waiting = false;
    const fingers = new Map(); // where each finger is
    const redraw = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        this.draw();
      });
    };
    const spot = (event) => [event.offsetX, event.offsetY];
    at("map-colour").addEventListener("change", () => this.page.colour(at("map-colour").value));
    new ResizeObserver(redraw).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      if (this.points) this.points.grouped = null;
      redraw();
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#magnify(Math.exp(-event.deltaY / 300), spot(event));
      redraw();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      canvas.setPointerCapture(event.pointerId);
      if (event.pointerType === "touch") fingers.set(event.pointerId, spot(event));
      last = [event.clientX, event.clientY];
      moved = false;
      this.lasso = event.shiftKey ? [spot(event)] : null;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (fingers.size === 2) {
        moved = true;
        this.#pinch(fingers, event.pointerId, spot(event));
        last = [event.clientX, event.clientY];
        return redraw();
      }
      if (!last) return this.#point(event);
      const step = [event.clientX - last[0], event.clientY - last[1]];
      if (!moved && Math.hypot(...step) < 4) return undefined;
      moved = true;
      hideTip();
      if (this.lasso) this.lasso.push(spot(event));
      else this.shift = this.shift.map((each, k) => each + step[k]);
      last = [event.clientX, event.clientY];
      return redraw();
    });
    canvas.addEventListener("pointercancel", (event) => { // the browser or the system needs the finger
      fingers.delete(event.pointerId);
      last = this.lasso = null;
      redraw();
    });
    canvas.addEventListener("pointerup", (event) => {
      fingers.delete(event.pointerId);
      last = null;
      if (fingers.size) return;
      const ring = this.lasso;
      this.lasso = null;
      if (ring && moved) this.page.cohorts.choose(this.#inside(ring));
      else if (!moved) this.#click(event);
      redraw();
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
      if (!moves[event.key]) return;
      event.preventDefault();
      this.shift = this.shift.map((each, k) => each + moves[event.key][k]);
      redraw();
    });
  }

  /** Two fingers zoom and move: what lies between them stays between them. */
  #pinch(fingers, moving, place) {
    const between = () => {
      const [one, two] = [...fingers.values()];
      return { far: Math.max(Math.hypot(one[0] - two[0], one[1] - two[1]), 1), middle: [(one[0] + two[0]) / 2, (one[1] + two[1]) / 2] };
    };
    const before = between();
    fingers.set(moving, place);
    const after = between();
    this.#magnify(after.far / before.far, after.middle);
    this.shift = this.shift.map((each, k) => each + after.middle[k] - before.middle[k]);
  }

  /** @param {number} factor @param {number[]} place that stays where it is */
  #magnify(factor, [x, y]) {
    const zoom = Math.min(60, Math.max(0.5, this.zoom * factor)), real = zoom / this.zoom;
    const middle = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
    this.shift = this.shift.map((each, k) => [x, y][k] - middle[k] - ([x, y][k] - middle[k] - each) * real);
    this.zoom = zoom;
  }

  magnify(factor) {
    this.#magnify(factor, [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2]);
    this.draw();
  }

  fit() {
    this.zoom = 1;
    this.shift = [0, 0];
    this.draw();
  }

  /** The point at a place of the canvas, or -1. */
  #nearest(x, y) {
    const { points, members } = this;
    let best = -1, least = NEAR ** 2;
    for (let k = 0; points && k < points.count; k++) {
      const far = (points.x[k] - x) ** 2 + (points.y[k] - y) ** 2;
      if (far < least && (!members || members.has(points.nodes[k]))) [best, least] = [k, far];
    }
    return best;
  }

  #point(event) {
    const k = this.#nearest(event.offsetX, event.offsetY);
    this.canvas.style.cursor = k < 0 ? "grab" : "pointer";
    if (k < 0) return hideTip();
    return showTip(this.#about(k), event.clientX, event.clientY);
  }

  #about(k) {
    const { points } = this, { marks } = this.page;
    const label = marks[points.label[k] < 0 ? marks.length - 1 : points.label[k]];
    return [
      html("b", {}, points.titles?.[k] || points.ids[k]),
      html("div", {}, dotOf(marks[points.answer[k]]), `prediction ${marks[points.answer[k]].name}, ${precise(points.confidence[k] / 255)}`),
      html("div", {}, dotOf(label), `label ${label.name}`),
      html("div", { class: "note" }, SPLITS[points.split[k]]),
    ];
  }

  #click(event) {
    const k = this.#nearest(event.offsetX, event.offsetY);
    if (k < 0) return;
    const isFirst = event.pointerType === "touch" && this.touched !== k;
    this.touched = k;
    if (isFirst) showTip([...this.#about(k), html("p", { class: "note" }, "Tap again to walk there.")], event.clientX, event.clientY);
    else {
      hideTip();
      this.page.walk(this.points.ids[k]);
    }
  }

  /** The nodes inside a closed line, by index and id. */
  #inside(ring) {
    const { points } = this, nodes = [], ids = [];
    for (let k = 0; k < points.count; k++) {
      let isIn = false;
      for (let a = 0, b = ring.length - 1; a < ring.length; b = a++) {
        const [xa, ya] = ring[a], [xb, yb] = ring[b];
        const crosses = ya > points.y[k] !== yb > points.y[k]
          && points.x[k] < ((xb - xa) * (points.y[k] - ya)) / (yb - ya) + xa;
        if (crosses) isIn = !isIn;
      }
      if (isIn) {
        nodes.push(points.nodes[k]);
        ids.push(points.ids[k]);
      }
    }
    return { nodes, ids };
  }
}

function hue(colour, points, k, marks, colours) {
  const label = points.label[k];
  if (colour === "prediction") return marks[points.answer[k]].colour;
  if (colour === "truth") return label < 0 ? EMPTY : marks[label].colour;
  if (colour === "error") return label < 0 ? EMPTY : label === points.answer[k] ? colours.line : colours.alarm;
  if (colour === "split") return PARTS[points.split[k]];
  return shade(points[colour][k] / 255);
}

/** From a pale blue for 0 to a dark one for 1, in a few steps. */
function shade(value) {
  const step = Math.round(8 * value) / 8;
  return `hsl(${210 - 20 * step} ${30 + 60 * step}% ${82 - 56 * step}%)`;
}

/** @param {import("./types.js").MapAnswer} map */
function unpacked(map) {
  const read = (text, Kind) => new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const count = map.ids.length, places = read(map.places, Uint16Array);
  const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  places.forEach((each, k) => {
    low[k % 2] = Math.min(low[k % 2], each);
    high[k % 2] = Math.max(high[k % 2], each);
  });
  return {
    count, titles: map.titles, how: map.how, of: map.of, ids: map.ids, nodes: read(map.nodes, Int32Array),
    places, middle: high.map((each, k) => (each + low[k]) / 2), spread: high.map((each, k) => Math.max(each - low[k], 1)), label: read(map.label, Int16Array), answer: read(map.answer, Int16Array),
    confidence: read(map.confidence, Uint8Array), disagreement: read(map.disagreement, Uint8Array),
    split: read(map.split, Uint8Array), x: new Float32Array(count), y: new Float32Array(count),
  };
}
