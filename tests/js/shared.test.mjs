import assert from "node:assert/strict";
import test from "node:test";
import { Answers, plainValue } from "../../src/agnn/web/explore/static/shared.js";

const record = (index, id, label, degree, title) => ({ index, id, label, degree, answers: [0], ...(title ? { title } : {}) });

/** Nodes 7, 12 and 30 of a file with one run. */
const answers = (nodes = [record(7, "a7", 0, 2), record(12, "b7", 1, 9), record(30, "7", 1, 4)]) => {
  const table = {
    about: { classes: [{ name: "Red Sea" }, { name: "Blue" }, { name: "no label" }], runs: [{ title: "AGNN" }] },
    nodes,
    "around a7": { node: nodes[0], sides: [{ probabilities: [0.75, 0.25] }] },
    "removals a7": { edges: ["7-12", "7-30"], after: [[[0.5, 0.5]], [null]], effects: [[0.25], [null]] },
    "cohort wrong": { key: "wrong", nodes: [7] },
    "cell 0-1-1-0": { count: 3 },
  };
  const questions = Object.keys(table), lines = Object.values(table).map((answer) => [answer]);
  return new Answers([questions.map((question) => [question]), ...lines].map((line) => JSON.stringify(line)).join("\n"));
};

test("columns become lists again, nested as they were", () => {
  const packed = { columns: { id: ["a", "b"], place: { columns: [[1, 2], [3, 4]] }, way: { columns: [{ columns: [[1, null], [2, 3]] }] } } };
  assert.deepEqual(plainValue(packed), [{ id: "a", place: [1, 3], way: [[1, 2]] }, { id: "b", place: [2, 4], way: [[null, 3]] }]);
  const plain = { nodes: [], why: null, is_all: true, list: [{ a: 1 }, { b: 2 }] };
  assert.deepEqual(plainValue(plain), plain);
});

test("lists of several lengths begin where the one before ends", () => {
  const packed = { lengths: [2, 0, 1], joined: { columns: { id: ["a", "b", "c"] } } };
  assert.deepEqual(plainValue(packed), [[{ id: "a" }, { id: "b" }], [], [{ id: "c" }]]);
});

test("answers are looked up, and what is not in the file is refused in a sentence", () => {
  const known = answers();
  assert.equal(known.cohort({ key: "wrong" }).key, "wrong");
  assert.equal(known.cell({ run: 0, layer: 1, receiver: 1, sender: 0 }).count, 3);
  assert.equal(known.around({ node: "a7" }).node.index, 7);
  assert.throws(() => known.around({ node: "z" }), /“z” is not in this file, which has 3 nodes. For all: `agnn explore`./);
  assert.throws(() => known.cohort({ key: "cell-0-0" }), /None of these nodes is in this file./);
});

test("removals are found whichever way round the edge is; null where none was tried", () => {
  const { effects } = answers().removals({ node: "a7", edges: "12-7,7-30,12-30" });
  assert.deepEqual(effects, [[0.25, null, null]]);
});

test("the prediction without one edge is known, without others it is refused", () => {
  const known = answers();
  assert.deepEqual(known.without({ node: "a7", edges: "12-7" }), { before: [[0.75, 0.25]], after: [[0.5, 0.5]] });
  for (const edges of ["7-30", "12-30", "7-12,7-30"]) {
    assert.throws(() => known.without({ node: "a7", edges }), /the removal of one edge at the node itself/);
  }
});

test("a search finds the id, what begins with it, what contains it, then classes by degree", () => {
  const ids = (q) => answers().search({ q }).nodes.map(({ id }) => id);
  assert.deepEqual(ids("7"), ["7", "a7", "b7"]);
  assert.deepEqual(ids(""), ["b7", "7", "a7"]);
  assert.deepEqual(ids("B"), ["b7", "7"]); // begins with it, then the class Blue
  assert.deepEqual(ids("red   sea"), ["a7"]);
  assert.deepEqual(ids("x"), []);
});

test("a search says when there are more than it lists", () => {
  const many = Array.from({ length: 21 }, (_, k) => record(k, `p${k}`, 0, k));
  const { nodes, is_all } = answers(many).search({ q: "p" });
  assert.equal(nodes.length, 20);
  assert.equal(is_all, false);
});
