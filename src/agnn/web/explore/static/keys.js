/** Single keys that work wherever nothing is being typed. */

import { at } from "./dom.js";

/** @param {import("./types.js").Page} page */
export function keys(page) {
  const actions = {
    "/": () => at("search").focus(),
    "?": () => at("keys").showModal(),
    c: () => page.lens("contribution"),
    a: () => page.lens("attention"),
    r: () => page.lens("removal"),
    "[": () => page.layer(page.state.layer - 1),
    "]": () => page.layer(page.state.layer + 1),
    n: () => page.cohorts.step(1),
    p: () => page.cohorts.step(-1),
    m: () => page.view(page.state.view === "map" ? "node" : "map"),
    "+": () => page.picture().magnify(1.4),
    "-": () => page.picture().magnify(1 / 1.4),
    0: () => page.picture().fit(),
  };
  if (page.labelling) Object.assign(actions, {
    l: page.labelling.focus, u: page.labelling.undo, k: page.labelling.queue.keep, t: page.labelling.queue.take,
    ...(page.canSuggest ? { s: page.labelling.queue.nextBatch } : {}),
  });
  for (let hops = 1; hops <= page.mostHops; hops++) actions[hops] = () => page.hops(hops);
  at("keys-open").addEventListener("click", actions["?"]);
  at("keys-close").addEventListener("click", () => at("keys").close());
  addEventListener("keydown", (event) => {
    if (at("keys").open) return;
    const isTyping = /** @type {Element} */ (event.target).closest?.("input:not([type=radio]):not([type=range]), select, textarea");
    if (isTyping || event.altKey || event.ctrlKey || event.metaKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}
