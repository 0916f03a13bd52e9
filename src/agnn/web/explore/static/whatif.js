/** What would be otherwise: the edge that changes the prediction, and other betas. */

import { at, html } from "./dom.js";
import { ask } from "./questions.js";
import { counted } from "./words.js";

const PAUSE = 60; // milliseconds of rest of a slider before the model is computed

/** Make the controls work. @param {any} page */
export function whatIf(page) {
  at("change").addEventListener("click", () => findChange(page));
  const [{ betas }] = page.about.runs;
  at("betas").hidden = !betas;
  if (!betas) return;
  let timer = 0;
  const now = () => [...at("beta-list").querySelectorAll("input")].map((each) => Number(each.value));
  const say = () => now().forEach((value, k) => (at(`beta-value-${k}`).textContent = value.toFixed(1)));
  at("beta-list").replaceChildren(...betas.map((beta, k) => {
    const most = Math.max(10, Math.ceil(beta) + 2);
    const input = html("input", { type: "range", min: -2, max: most, step: 0.1, id: `beta-${k}` });
    input.addEventListener("input", () => {
      say();
      clearTimeout(timer);
      timer = setTimeout(() => page.betas(now()), PAUSE);
    });
    return html("div", { class: "slider" }, html("label", { for: `beta-${k}` }, `layer ${k + 1}`), input,
      html("output", { id: `beta-value-${k}`, for: `beta-${k}` }));
  }));
  at("beta-reset").addEventListener("click", () => page.betas(null));
  page.showBetas = () => {
    const shown = page.state.betas ?? betas;
    shown.forEach((beta, k) => (at(`beta-${k}`).value = String(beta)));
    say();
    if (page.state.betas) at("betas").open = true;
  };
}

async function findChange(page) {
  at("changed").textContent = "Trying …";
  at("change").disabled = true;
  try {
    const { edges, is_smallest: isSmallest } = await ask("change", { node: page.state.node });
    at("changed").textContent = !edges.length ? "No set of its edges that was tried changes the prediction."
      : `Without ${counted(edges.length, "edge")} another class is predicted; ${isSmallest ? "no smaller set does it" : "none of them can be spared"}.`;
    if (edges.length) await page.without(edges);
  } catch (error) {
    at("changed").textContent = "";
    page.fail(error);
  }
  at("change").disabled = false;
}
