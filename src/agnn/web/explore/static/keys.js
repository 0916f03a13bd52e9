/** Single keys that work wherever nothing is being typed. */

import { at } from "./dom.js";

/** @param {any} page */
export function keys(page) {
  const actions = {
    "/": () => at("search").focus(),
    1: () => page.hops(1),
    2: () => page.hops(2),
    3: () => page.hops(3),
    "[": () => page.layer(page.state.layer - 1),
    "]": () => page.layer(page.state.layer + 1),
    n: () => page.walkers?.step(1),
    p: () => page.walkers?.step(-1),
    "+": () => page.stage.magnify(1.4),
    "-": () => page.stage.magnify(1 / 1.4),
    0: () => page.stage.fit(),
  };
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input:not([type=radio]):not([type=range]), select, textarea");
    if (isTyping || event.altKey || event.ctrlKey || event.metaKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}
