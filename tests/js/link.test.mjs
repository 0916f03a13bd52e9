import assert from "node:assert/strict";
import test from "node:test";
import { START, changesOf, readLink, writeLink } from "../../src/agnn/web/explore/static/link.js";

test("a link gives back the state that wrote it", () => {
  const state = {
    ...START, node: "paper 7 & 8", view: "node", lens: "removal", hops: 3, replica: 0, cohort: "cell-1-2",
    without: [[7, 9], [7, 12]], added: [[7, 40]], dropped: [[9, 1203]], betas: [0, -1.5], cell: [0, 2, 1, 1],
  };
  assert.deepEqual(readLink(writeLink(state)), state);
});

test("the state at the start has an empty link", () => {
  assert.equal(writeLink(START), "#");
  assert.deepEqual(readLink(""), START);
});

test("a link keeps the map open beside a node", () => {
  const state = { ...START, node: "7", view: "map" };
  assert.equal(writeLink(state), "#node=7&view=map");
  assert.deepEqual(readLink("#node=7&view=map"), state);
});

test("what a link says wrongly is as at the start", () => {
  const wrong = "#node=7&lens=x&hops=99&limit=0&layer=-1&replica=two&without=1-2-3,x,4-5&betas=1,,2&cell=1-2&colour=red";
  assert.deepEqual(readLink(wrong), { ...START, node: "7", view: "node", without: [[4, 5]] });
});

test("changes are written as the server reads them", () => {
  const none = { without: null, with: null, drop: null, betas: null };
  assert.deepEqual(changesOf(START), none);
  const changes = changesOf({ ...START, without: [[12, 40], [12, 77]], betas: [0, 6.3] });
  assert.deepEqual(changes, { ...none, without: "12-40,12-77", betas: "0,6.3" });
});
