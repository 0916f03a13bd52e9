/** The card of an edge that was clicked: P and R both ways, and a way to take it out. */

import { at } from "./dom.js";
import { pairKey } from "./drawing.js";
import { layers, ownWeight } from "./tip.js";

/**
 * Show the edge between two indices, or no card where the picture does not have it.
 * @param {{state: import("./types.js").State, toggle: (pair: [number, number]) => void}} page
 * @param {import("./types.js").Side} side
 * @param {[number, number] | null} edge
 */
export function showEdge(page, side, edge) {
  const index = (end) => side.nodes[end].index;
  const link = edge && side.links.find(({ ends }) => pairKey(...ends.map(index)) === pairKey(...edge));
  at("edge-card").hidden = !link;
  if (!link) return;
  const ids = link.ends.map((end) => side.nodes[end].id);
  at("edge-title").textContent = `Edge ${ids.join(" – ")}`;
  at("edge-layers").replaceChildren(...ownWeight(link), ...[0, 1].map((way) =>
    layers(`${ids[1 - way]} → ${ids[way]}`, link.attention[way], link.relevance[way], page.state.layer)));
  const isGone = page.state.without.some((pair) => pairKey(...pair) === pairKey(...edge));
  at("edge-cut").textContent = isGone ? "Put the edge back" : "Remove the edge";
  at("edge-cut").onclick = () => page.toggle(edge);
}
