import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "@/insights/answers";
import { costOf, notesOf } from "@/insights/kinds/answered";
import type { Kind } from "@/insights/kinds/kind";
import { FIRST } from "@/insights/question/model";

const asked = (beside: Answer["beside"]) => ({
  question: FIRST,
  answer: {
    query: { kind: "TrendsQuery" },
    results: [],
    beside,
    zone: "UTC",
    calculatedAt: new Date("2026-03-31T12:00Z"),
  },
});
const KIND = { brokenDown: () => ["A", "B"] } as unknown as Kind;
const notes = (...counts: readonly (readonly [number, number | null])[]) =>
  notesOf(KIND, asked({ breakdown_values: counts.map(([shown, total]) => ({ shown, total })) }));

test("an answer says how many values it leaves out", () => {
  assert.deepEqual(notes([25, 311]), ["25 of 311 values shown"]);
  assert.deepEqual(notes([25, 311], [25, 311]), ["25 of 311 values shown"]);
  assert.deepEqual(notes([25, 311], [4, 4]), ["25 of 311 values of A, 4 of 4 values of B shown"]);
  assert.deepEqual(notes([25, null]), ["25 of many values shown"]);
  assert.deepEqual(notes([3, 3]), []);
  assert.deepEqual(notes(), []);
  assert.deepEqual(notesOf(KIND, asked({})), []);
});

test("the note of a kind stands behind that of the values", () => {
  const kind: Kind = { ...KIND, note: () => "may still convert" };
  const beside = { breakdown_values: [{ shown: 1, total: 2 }] };
  assert.deepEqual(notesOf(kind, asked(beside)), ["1 of 2 values shown", "may still convert"]);
});

test("an answer says what it took, except one of an earlier version", () => {
  assert.equal(costOf(asked({ rows_read: 1204, seconds: 0.3 })), "1,204 rows read in 0.3 s");
  assert.equal(costOf(asked({ rows_read: 1, seconds: 0.004 })), "1 row read in 0.01 s");
  assert.equal(costOf(asked({ rows_read: null, seconds: 2 })), "calculated in 2 s");
  assert.equal(costOf(asked({ rows_read: null, seconds: null })), undefined);
  assert.equal(costOf(asked({})), undefined);
});
