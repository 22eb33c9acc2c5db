/**
 * The loop against recorded vectors, in this process: no judge and no Python is needed.
 *
 * `vectors.json` holds scenarios as commands, and what the specification answers to each. The file
 * comes from `loopspec vectors`; write it anew when you move to a newer contract.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Adapter } from "./adapter.mjs";
import { Port } from "./protocol.mjs";

const { vectors, minimum } = JSON.parse(
  readFileSync(new URL("vectors.json", import.meta.url), "utf8"),
);
const can = new Set(new Adapter().capabilities);
const isWithin = (/** @type {{ needs: string[] }} */ { needs }) =>
  needs.every((need) => can.has(need));
const played = vectors.filter(isWithin);

/**
 * An answer without what it leaves open: keys that are null, and those that may be missing.
 *
 * @param {object} answer
 */
const told = (answer) =>
  JSON.parse(JSON.stringify(answer), (key, value) =>
    value === null || key === "folded" ? undefined : value,
  );

for (const { name, title, rules, commands, answers } of played) {
  test(`${name}: ${title} (${rules.join(" ")})`, async () => {
    const port = new Port(new Adapter());
    for (const [index, command] of commands.entries()) {
      assert.deepEqual(told(await port.answerTo(command)), answers[index], JSON.stringify(command));
    }
  });
}

test("as many vectors as there should be", () => {
  let count = 0;
  for (const row of minimum) if (isWithin(row)) count += row.vectors;
  assert.equal(played.length, count);
  assert.ok(count > 0);
});
