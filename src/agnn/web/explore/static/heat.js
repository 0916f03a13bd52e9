/** The relevance between classes as a table of buttons, and the edges behind a cell. */

import { dotOf } from "./answers.js";
import { at, button, html } from "./dom.js";
import { ask } from "./questions.js";
import { counted, signed } from "./words.js";

/**
 * Make the heat map work.
 * @param {import("./types.js").Page} page
 * @param {() => number[] | null} chosen the cell in the link: run, layer, receiver, sender
 * @returns {() => Promise<void>} shows what the link says
 */
export function heatMap(page, chosen) {
  const run = at("heat-run"), layer = at("heat-layer"), box = at("classes");
  const known = new Map(); // the relevance by run
  let about = page.about; // whose relevance is known
  run.replaceChildren(...page.about.runs.map((each, k) => html("option", { value: k }, each.title)));
  run.closest("label").hidden = page.about.runs.length < 2;

  const offerLayers = () => {
    const count = page.about.runs[Number(run.value)].layers;
    const old = Math.min(Number(layer.value) || count, count);
    layer.replaceChildren(...Array.from({ length: count }, (_, t) => html("option", { value: t + 1 }, String(t + 1))));
    layer.value = String(old);
  };
  const draw = async () => {
    const number = Number(run.value);
    if (about !== page.about) known.clear(); // another run is shown
    about = page.about;
    if (!known.has(number)) {
      at("heat").replaceChildren(html("caption", {}, "Reading every edge …"));
      known.set(number, (await ask("relevance", { run: number })).layers);
    }
    const pick = (receiver, sender) => {
      page.keep([number, Number(layer.value), receiver, sender]);
      show();
    };
    // One scale for all layers, or a fading relevance could not be seen.
    const all = known.get(number);
    const largest = Math.max(...all.flat(2).map((value) => Math.abs(value ?? 0)), 1e-9);
    fill(all[Number(layer.value) - 1], largest, page.marks.slice(0, -1), chosen(), pick);
  };
  const show = async () => {
    const cell = chosen();
    const { runs, classes } = page.about;
    const fits = cell && cell[0] < runs.length && cell[1] >= 1 && cell[1] <= runs[cell[0]].layers
      && Math.max(cell[2], cell[3]) < classes.length - 1;
    if (fits) {
      box.open = true;
      run.value = String(cell[0]);
      offerLayers();
      layer.value = String(cell[1]);
    }
    if (!box.open) return;
    try {
      await draw();
      await showCell(page, fits ? cell : null);
    } catch (error) {
      page.fail(error);
    }
  };
  const other = () => {
    offerLayers();
    page.keep(null);
    show();
  };
  offerLayers();
  run.addEventListener("change", other);
  layer.addEventListener("change", other);
  box.addEventListener("toggle", () => box.open && show());
  return show;
}

function fill(values, largest, marks, cell, pick) {
  const head = html("tr", {}, html("td"), ...marks.map((mark) =>
    html("th", { scope: "col", title: mark.name }, dotOf(mark), html("span", { class: "hidden" }, mark.name))));
  const rows = values.map((row, i) => html("tr", {},
    html("th", { scope: "row" }, dotOf(marks[i]), html("span", {}, marks[i].name)),
    ...row.map((value, j) => {
      if (value === null) return html("td", { class: "none" }, "–");
      const words = `${signed(value)} from ${marks[j].name} to ${marks[i].name}`;
      const made = button(signed(value), () => pick(i, j), { "aria-label": words, title: words,
        "aria-pressed": String(Boolean(cell) && cell[2] === i && cell[3] === j) });
      made.style.setProperty("--strength", `${Math.round((55 * Math.abs(value)) / largest)}%`);
      made.className = value < 0 ? "less" : "more";
      return html("td", {}, made);
    })));
  at("heat").replaceChildren(html("thead", {}, head), html("tbody", {}, ...rows));
}

async function showCell(page, cell) {
  if (!cell) {
    at("cell").replaceChildren(html("p", { class: "note" }, "Choose a cell to see its edges."));
    return;
  }
  const [run, layer, receiver, sender] = cell;
  const found = await ask("cell", { run, layer, receiver, sender });
  const name = (k) => page.marks[k].name;
  const walk = (id) => button(id, () => page.walk(id), { class: "walk", "aria-label": `Walk to ${id}` });
  const most = found.count > found.senders.length ? `; the ${found.senders.length} most relevant` : "";
  const rows = found.senders.map((id, k) => html("tr", {},
    html("td", {}, walk(id)), html("td", {}, walk(found.receivers[k])),
    html("td", { class: "number" }, signed(found.relevance[k]))));
  const head = ["sends", "receives", "R"].map((word, k) =>
    html("th", { scope: "col", class: k === 2 ? "number" : null }, word));
  at("cell").replaceChildren(
    html("h3", {}, `${name(sender)} → ${name(receiver)}`),
    html("p", { class: "note" }, `${counted(found.count, "edge")} in layer ${layer}${most}`),
    html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Edges of the cell" },
      html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows))),
  );
}
