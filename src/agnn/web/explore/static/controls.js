/** The controls above the picture. */

import { at, html } from "./dom.js";
import { LENSES, lensName } from "./lens.js";
import { savePng, saveSvg } from "./save.js";
import { counted } from "./words.js";

/**
 * Fill the controls and make them work.
 * @param {import("./types.js").Page} page
 */
export function makeControls(page) {
  showFacts(page.about);
  showShared(page.about);
  at("view").append(choice("view", "map", "Map", () => page.view("map")),
    choice("view", "node", "Neighbourhood", () => page.view("node")));
  at("lens").append(...LENSES.map((lens) => choice("lens", lens, lensName(lens), () => page.lens(lens))));
  const hops = Array.from({ length: page.mostHops }, (_, k) => k + 1);
  at("hops").append(...hops.map((each) => choice("hops", each, String(each), () => page.hops(each))));
  at("layer").max = String(page.layers);
  at("layer-ticks").replaceChildren(...numbered(page.layers + 1, (t) => String(t)));
  at("replica").replaceChildren(
    html("option", { value: "" }, "mean of all"),
    ...numbered(page.replicas, (r) => `replica ${r + 1}`),
  );
  const chosen = () => (at("replica").value === "" ? null : Number(at("replica").value));
  at("layer").addEventListener("input", () => page.layer(Number(at("layer").value)));
  at("replica").addEventListener("change", () => page.replica(chosen()));
  const clicks = {
    nearer: () => page.stage.magnify(1.4),
    farther: () => page.stage.magnify(1 / 1.4),
    fit: () => page.stage.fit(),
    "map-nearer": () => page.map.magnify(1.4),
    "map-farther": () => page.map.magnify(1 / 1.4),
    "map-fit": () => page.map.fit(),
    "save-svg": () => saveSvg(page.stage.copy(), page.state.node),
    "save-png": () => savePng(page.stage.copy(), page.state.node).catch(page.fail),
    copy: () => copyLink(page),
  };
  for (const [id, action] of Object.entries(clicks)) at(id).addEventListener("click", action);
}

/**
 * Set the controls as the state says.
 * @param {import("./types.js").State} state
 * @param {number} view
 */
export function showControls(state, view) {
  const name = view ? `layer ${view}` : "all layers";
  at("layer").value = String(view);
  at("layer").setAttribute("aria-valuetext", name);
  at("layer-name").textContent = name;
  at("replica").value = state.replica === null ? "" : String(state.replica);
  at(`hops-${state.hops}`).checked = true;
  at(`lens-${state.lens}`).checked = true;
  at("layers").hidden = state.lens !== "attention";
}

/** What a page without a server has, and what it has not. @param {import("./types.js").About} about */
function showShared({ shared, nodes, is_labelling: isLabelling }) {
  if (!shared) return;
  document.documentElement.classList.add("shared");
  const whose = shared.count === nodes ? "all nodes" : `${counted(shared.count, "node")}${shared.title ? ` (${shared.title})` : ""}`;
  const labels = isLabelling ? "" : " new labels,";
  at("shared").textContent = `A file with the neighbourhoods of ${whose}, and the removal of up to ${shared.trials} edges of each. Other hops, replicas and betas,${labels} and other changes than one removal need agnn explore.`;
  at("shared").hidden = false;
}

/** The data and the accuracy of every run, in the head of the page. @param {import("./types.js").About} about */
export function showFacts(about) {
  const size = `${counted(about.nodes, "node")}, ${counted(about.edges, "edge")}`;
  at("facts").textContent = [about.data, size, ...about.runs.map(accuracyOf)].join(" · ");
}

function accuracyOf(run) {
  const { mean, standard_error: error, n } = run.accuracy;
  const spread = error === null || n < 2 ? "" : ` ± ${error.toFixed(1)}`;
  return `${run.title} ${mean.toFixed(1)}${spread} %`;
}

/** One of several that exclude each other, as a button that stays pressed. */
export function choice(name, value, label, action) {
  const input = html("input", { type: "radio", name, value, id: `${name}-${value}` });
  input.addEventListener("change", action);
  return html("label", {}, input, html("span", {}, label));
}

function numbered(count, name) {
  return Array.from({ length: count }, (_, k) => html("option", { value: k }, name(k)));
}

async function copyLink(page) {
  try {
    await navigator.clipboard.writeText(location.href);
    at("copy").textContent = "Copied";
    setTimeout(() => (at("copy").textContent = "Copy link"), 2000);
  } catch {
    page.fail(new Error("The browser lets no page copy here; take the link from its address line."));
  }
}
