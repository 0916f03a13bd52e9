import assert from "node:assert/strict";
import test from "node:test";
import { groupsOf } from "../../src/agnn/web/explore/static/groups.js";
import { byNode, points, seen, trials } from "../../src/agnn/web/explore/static/lens.js";

/** A target (10) with a neighbour (11) for it and one (12) against it, behind which another (13) lies. */
const dots = [[10, 0, -1, 0.9], [11, 1, 0, 1.5], [12, 1, 0, -2], [13, 2, 2, 0.001]];
const side = {
  nodes: dots.map(([index, hop, parent, contribution], k) => ({
    index, hop, parent, contribution, share: [0.4 - k / 10, 0.5], radius: [0.4 - k / 20, 0.5, 0.6 + k / 20],
  })),
  links: [[0, 1], [0, 2], [1, 2], [2, 3]].map((ends, k) => ({ ends, crossing: [k / 10, k / 5] })),
};

test("attention has shares, radii and crossings of its view and no sign", () => {
  const look = seen("attention", side, 0, undefined);
  assert.deepEqual(look.number, ["40", "30", "20", "10"]);
  assert.deepEqual(look.radius, side.nodes.map((dot) => dot.radius[0]));
  assert.deepEqual(look.sign, [0, 0, 0, 0]);
  assert.deepEqual(seen("attention", side, 1, undefined).weight, side.links.map((link) => link.crossing[1]));
});

test("a contribution has its sign, its own radius, and colours the edge towards the target", () => {
  const look = seen("contribution", side, 0, undefined);
  assert.deepEqual(look.sign, [1, 1, -1, 0]);
  assert.deepEqual(look.radius, side.nodes.map((dot) => dot.radius[2]));
  assert.deepEqual(look.way, [1, -1, 0, 0]); // the edge between two neighbours leads to no target
  assert.deepEqual(look.weight, [1.5, 2, 0, 0.001]);
  assert.deepEqual(look.number.slice(1, 3), ["+1.50", "−2.00"]);
});

test("a removal that was not tried is said to be so", () => {
  const look = seen("removal", side, 0, [null, 0.25, -0.01, null]);
  assert.deepEqual(look.sign, [0, 1, -1, 0]);
  assert.deepEqual(look.number, ["", "+25.0", "−1.0", ""]);
  assert.deepEqual(look.words, ["the target", "without its edge −25.0 points for the prediction",
    "without its edge +1.0 points for the prediction", "removal not tried"]);
  assert.equal(look.radius[1], 0.5); // the largest effect
});

test("removals are tried for the nodes that contribute most first, but not for what is gone", () => {
  assert.deepEqual(trials(side), [[12, 10], [11, 10], [13, 12]]);
  const gone = { ...side, nodes: side.nodes.map((dot, k) => ({ ...dot, is_gone: k === 2 })) };
  assert.deepEqual(trials(gone), [[11, 10], [13, 12]]);
});

test("effects find their node whichever way round the pair is", () => {
  assert.deepEqual(byNode(side, [[10, 11], [12, 13]], [0.1, 0.2]), [null, 0.1, null, 0.2]);
});

test("percentage points have a sign, and a dash where there is none", () => {
  assert.deepEqual([0.123, -0.123, 0.0001, null].map(points), ["+12.3", "−12.3", "+0.0", "–"]);
});

test("a hub is drawn by the steps of its lead, by groups of the attention, or by its removals", () => {
  const steps = [["constant", "constant", 9, 0], ["itself", "itself", 5, 1], ["group", "12 neighbours", -1, 12], ["node", "11", 0.5, 1]]
    .map(([kind, name, value, nodes]) => ({ kind, name, value, nodes }));
  const hub = { ...side, is_hub: true, why: { steps }, attention_groups: [{ name: "a", value: 0.1 }, { name: "b", value: 0.7 }] };
  const lines = (lens, view = 0, effects = undefined) => groupsOf(hub, seen(lens, hub, view, effects), view);
  assert.deepEqual(lines("contribution").map(({ name }) => name), ["11", "12 neighbours"]);
  assert.deepEqual(lines("attention").map(({ value }) => value), [0.7, 0.1]);
  assert.equal(lines("attention", 1), null); // the groups are those of all layers
  assert.equal(lines("removal"), null); // not tried yet
  assert.deepEqual(lines("removal", 0, [null, 0.1, -0.2, null]).map(({ node }) => node), [11, 12]);
  assert.equal(groupsOf({ ...hub, is_hub: false }, seen("contribution", hub, 0, undefined), 0), null);
  const many = { ...hub, attention_groups: Array.from({ length: 20 }, (_, k) => ({ name: `${k}`, value: k })) };
  assert.deepEqual(groupsOf(many, seen("attention", many, 0, undefined), 0).map(({ value }) => value).slice(10), [9, 8]);
});
