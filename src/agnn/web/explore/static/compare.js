/** A way through the nodes on which two runs differ. */

import { at, html } from "./dom.js";
import { ask } from "./questions.js";
import { counted } from "./words.js";

/**
 * Make the bar work, where there are two runs.
 * @param {{about: any, state: import("./link.js").State, walk: (id: string) => void,
 *   fail: (error: Error) => void}} page
 * @returns {Promise<{step: (by: number) => void, show: () => void} | null>}
 */
export async function comparison(page) {
  const titles = page.about.runs.map((run) => run.title);
  if (titles.length < 2) return null;
  const all = await ask("differences");
  const who = at("who");
  const count = (right) => all.right.filter((each) => each === right).length;
  const offers = [
    ["", `either (${all.ids.length})`],
    ["0", `${titles[0]} (${count(0)})`],
    ["1", `${titles[1]} (${count(1)})`],
    ["-1", `neither (${count(-1)})`],
  ];
  who.replaceChildren(...offers.map(([value, name]) => html("option", { value }, name)));
  at("differ").textContent = `Different answers for ${counted(all.count, "node")}`;
  at("compare").hidden = false;

  const ids = () => all.ids.filter((_, k) => who.value === "" || all.right[k] === Number(who.value));
  const show = () => {
    const list = ids(), here = list.indexOf(page.state.node);
    at("which").textContent = here < 0 ? `– of ${list.length}` : `${here + 1} of ${list.length}`;
    at("previous").disabled = at("next").disabled = list.length === 0;
  };
  const step = (by) => {
    const list = ids(), here = list.indexOf(page.state.node);
    if (!list.length) return;
    page.walk(list[here < 0 ? (by > 0 ? 0 : list.length - 1) : (here + by + list.length) % list.length]);
  };
  at("previous").addEventListener("click", () => step(-1));
  at("next").addEventListener("click", () => step(1));
  who.addEventListener("change", show);
  show();
  return { step, show };
}
