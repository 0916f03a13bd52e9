import assert from "node:assert/strict";
import test from "node:test";
import { START } from "../../src/agnn/web/explore/static/link.js";
import { changeWords } from "../../src/agnn/web/explore/static/whatif.js";

test("removed edges alone are named as such", () => {
  assert.equal(changeWords({ ...START, without: [[1, 2]] }), "Without 1 edge");
  assert.equal(changeWords({ ...START, without: [[1, 2], [1, 3]] }), "Without 2 edges");
});

test("other changes are counted together", () => {
  assert.equal(changeWords({ ...START, betas: [1, 2] }), "With 1 change");
  const all = { ...START, without: [[1, 2]], added: [[1, 4]], dropped: [[1, 9]], betas: [1, 2] };
  assert.equal(changeWords(all), "With 4 changes");
});
