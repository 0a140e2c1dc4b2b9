import assert from "node:assert/strict";
import { test } from "node:test";
import { differences } from "@/flags/editor/changes";
import { changesOf, type Fields, newFields, suggestedKey } from "@/flags/editor/fields";
import { merge } from "@/flags/editor/merge";
import { removedVariant, renamedVariant, withPayload } from "@/flags/editor/variants";
import { evenShares, type JsonObject, readRules, releasedToAll, writeRules } from "@/flags/model";
import { flagSentence, type Places } from "@/flags/sentence";

const PLAN = { type: "person", key: "plan", operator: "exact", value: "pro" };
const OF_PLAN = { properties: [PLAN], rollout_percentage: 20 };
const share = (percent: number): JsonObject => ({ properties: [], rollout_percentage: percent });
const split = (...shares: number[]): JsonObject => ({
  variants: shares.map((one, at) => ({ key: `v${at}`, rollout_percentage: one })),
});
const fields = (filters: JsonObject): Fields => newFields(filters);

function rules(filters: JsonObject) {
  const found = readRules(filters);
  assert.ok(found !== null);
  return found;
}

const KEPT: readonly JsonObject[] = [
  releasedToAll,
  { groups: [] },
  { groups: [{}], payloads: {}, multivariate: null, aggregation_group_type_index: null },
  {
    groups: [
      { ...OF_PLAN, sort_key: "a", description: "b" },
      { properties: null, variant: null },
    ],
    multivariate: { ...split(50, 50), override_property_values: null },
    payloads: { v0: { a: [1] }, v1: '"text"' },
    holdout_groups: [share(5)],
    super_groups: null,
  },
];

test("rules that were not changed are written as they were read", () => {
  for (const filters of KEPT) assert.deepEqual(writeRules(rules(filters)), filters);
});

test("rules with parts that are not known are not read", () => {
  for (const filters of [
    {},
    { groups: [1] },
    { groups: [{ properties: [{ ...PLAN, operator: "semver_gt" }] }] },
    { groups: [{ properties: [{ ...PLAN, type: "behavioral" }] }] },
    { groups: [], multivariate: { variants: "two" } },
  ]) {
    assert.equal(readRules(filters), null);
  }
});

const SENTENCES: readonly (readonly [JsonObject, string, Places?])[] = [
  [{ groups: [OF_PLAN, share(5)] }, "20% of people whose plan is pro, then 5% of everyone"],
  [{ groups: [] }, "Nobody"],
  [{ groups: [share(0)] }, "Nobody"],
  [{ groups: [{}, OF_PLAN] }, "Everyone"],
  [
    { groups: [OF_PLAN, { ...share(1), variant: "v0" }], multivariate: split(100) },
    "1% of everyone (always v0), then 20% of people whose plan is pro",
  ],
  [
    { groups: [{ properties: [{ type: "cohort", key: "id", value: 7 }] }] },
    "People in the cohort Payers",
  ],
  [{ groups: [{}], holdout_groups: [share(5)] }, "Everyone; excluding a holdout"],
  [{ groups: [{}], aggregation_group_type_index: 1 }, "Every company"],
  [{ groups: [{}] }, "Everyone; only on servers", { evaluation_runtime: "server" }],
  [{ groups: [{}] }, "Everyone; only in browsers and apps", { evaluation_runtime: "client" }],
  [{ groups: [{}] }, "Everyone", { evaluation_runtime: "all", evaluation_contexts: [] }],
  [
    { groups: [share(5)] },
    "5% of everyone; only on servers; only in the contexts web or docs",
    { evaluation_runtime: "server", evaluation_contexts: ["web", "docs"] },
  ],
];

test("the sentence says who gets the flag, in the order of evaluation", () => {
  const names = { cohorts: new Map([["7", "Payers"]]), groupTypes: new Map([[1, "company"]]) };
  for (const [filters, sentence, places = {}] of SENTENCES) {
    assert.equal(flagSentence({ filters, ...places }, names), sentence);
  }
});

test("even shares sum to 100 and differ by one step at most", () => {
  for (const count of [1, 2, 3, 6, 7, 11, 99, 100, 150]) {
    const shares = evenShares(count);
    const sum = shares.reduce((total, one) => total + one, 0);
    assert.equal(Math.round(sum * 100) / 100, 100, String(count));
    assert.ok(Math.max(...shares) - Math.min(...shares) <= 1.001, String(count));
  }
});

test("a variant takes its payload and its conditions along", () => {
  const filters = {
    groups: [{ ...share(5), variant: "v0" }],
    multivariate: split(50, 50),
    payloads: { v0: '"a"' },
  };
  const before = rules(filters);
  const id = before.variants[0]?.id ?? "";
  const renamed = writeRules(renamedVariant(before, id, "blue"));
  assert.deepEqual(renamed.payloads, { blue: '"a"' });
  assert.deepEqual(renamed.groups, [{ ...share(5), variant: "blue" }]);
  const removed = writeRules(removedVariant(before, id));
  assert.deepEqual(removed.payloads, {});
  assert.deepEqual(removed.groups, [{ ...share(5), variant: null }]);
});

test("a payload that was JSON stays JSON, and one that was text stays text", () => {
  const before = rules({ groups: [], payloads: { a: { x: 1 }, b: '"x"' } });
  assert.deepEqual(withPayload(before, "a", "[2]").payloads, { a: [2], b: '"x"' });
  assert.deepEqual(withPayload(before, "b", "[2]").payloads, { a: { x: 1 }, b: "[2]" });
  assert.deepEqual(withPayload(before, "b", " ").payloads, { a: { x: 1 } });
});

const groups = (...shares: number[]): Fields => fields({ groups: shares.map(share) });
const MERGES: readonly (readonly [string, Fields, Fields, Fields, Fields, number])[] = [
  ["each another", groups(1, 2), groups(9, 2), groups(1, 8), groups(9, 8), 0],
  ["both the same", groups(1, 2), groups(9, 2), groups(9, 2), groups(9, 2), 0],
  ["one removed", groups(1, 2, 3), groups(1, 3), groups(1, 2, 7), groups(1, 7), 1],
  ["far apart", groups(1, 2, 3), groups(2, 3), groups(1, 2, 7), groups(2, 7), 0],
  ["both added", groups(1), groups(1, 5), groups(1, 6), groups(1, 5, 6), 0],
  ["the same one", groups(1), groups(2), groups(3), groups(2), 1],
];

test("changes of two people are put together where they do not collide", () => {
  for (const [about, base, mine, theirs, expected, collisions] of MERGES) {
    const found = merge(base, mine, theirs);
    assert.equal(found.collisions.length, collisions, about);
    if (collisions === 0) assert.deepEqual(found.fields, expected, about);
  }
});

test("of a collision the one is taken that was chosen", () => {
  const [base, mine, theirs] = [groups(1, 5), groups(2, 5), groups(3, 6)];
  const [collision] = merge(base, mine, theirs).collisions;
  assert.ok(collision !== undefined);
  assert.deepEqual(merge(base, mine, theirs, { [collision.id]: "theirs" }).fields, groups(3, 6));
  assert.deepEqual(merge(base, mine, theirs, { [collision.id]: "mine" }).fields, groups(2, 6));
});

test("payloads and settings are put together one by one", () => {
  const of = (payloads: JsonObject, runtime: Fields["evaluation_runtime"]): Fields => ({
    ...fields({ groups: [], payloads }),
    evaluation_runtime: runtime,
  });
  const found = merge(
    of({ a: "1", b: "1" }, "all"),
    of({ a: "2", b: "1" }, "all"),
    of({ a: "1" }, "server"),
  );
  assert.deepEqual(found.fields, of({ a: "2" }, "server"));
  assert.deepEqual(found.collisions, []);
});

test("only what differs is sent", () => {
  const base = groups(1);
  assert.deepEqual(changesOf(base, base), {});
  assert.deepEqual(changesOf(base, { ...base, key: "k" }), { key: "k" });
});

test("a condition that was moved is told from one that was changed", () => {
  const found = differences(groups(1, 2, 3), groups(3, 1, 2), {});
  assert.deepEqual(found, [
    { what: "Condition 1", before: "condition 3", after: "3% of everyone" },
  ]);
  assert.deepEqual(differences(groups(1, 2), groups(1), {}), [
    { what: "Condition 2", before: "2% of everyone", after: null },
  ]);
});

test("a key is made of what a key may hold", () => {
  assert.equal(suggestedKey("Für die Zahlenden (β)!"), "fur-die-zahlenden");
  assert.equal(suggestedKey("  a_b  C "), "a_b-c");
  assert.equal(suggestedKey("日本"), "");
});
