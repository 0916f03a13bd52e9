/** The prediction set: the classes that fit the target, and how often such sets hold the true one. */

import { at, html } from "./dom.js";
import { COVERAGES } from "./link.js";
import { ask } from "./questions.js";
import { percent } from "./words.js";

/**
 * Fill the choice of coverages.
 * @param {import("./types.js").Page} page
 */
export function makeSets(page) {
  at("coverage").replaceChildren(...COVERAGES.map((each) => html("option", { value: each }, percent(each))));
  at("coverage").addEventListener("change", () => page.coverage(Number(at("coverage").value)));
}

/**
 * Ask for the sets of the node that is shown; whatever is wrong with them is a sentence in their place.
 * @param {import("./types.js").Page} page
 */
export async function showSets(page) {
  const { around } = page, { node, coverage } = page.state;
  at("coverage").value = String(coverage);
  at("set").hidden = page.change !== null; // sets are those of the model as trained
  if (page.change) return;
  at("set").setAttribute("aria-busy", "true");
  /** @type {{classes: number[]|null, said: string}[]} */
  let sets;
  try {
    ({ sets } = await ask("set", { node, coverage }));
  } catch (error) {
    sets = [{ classes: null, said: error.message }];
  }
  if (page.around === around) show(page, sets);
}

function show(page, sets) {
  const titles = page.about.runs.map((run) => (sets.length > 1 ? `${run.title}: ` : ""));
  const known = sets.flatMap(({ classes }, k) => (classes ? [`${titles[k]}${namesOf(page, classes)}`] : []));
  at("set-classes").textContent = known.length ? `Prediction set: ${known.join("; ")}.` : "No prediction set.";
  at("set-choice").hidden = !known.length;
  at("set").removeAttribute("aria-busy");
  // Two runs often say the same.
  at("set-said").textContent = [...new Set(sets.map(({ classes, said }, k) => (classes ? said : titles[k] + sentence(said))))].join(" ");
}

const namesOf = (page, classes) => classes.map((label) => page.marks[label].name).join(", ") || "none of the classes fits";

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
