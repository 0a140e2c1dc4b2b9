import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@/flags/model";
import { isSameForAll } from "@/flags/tabs/removal";

const PLAN = { type: "person", key: "plan", operator: "exact", value: "pro" };
const group = (
  share: number,
  properties: readonly object[] = [],
  more: object = {},
): JsonObject => ({
  properties,
  rollout_percentage: share,
  ...more,
});
const SPLIT = {
  variants: [
    { key: "a", rollout_percentage: 50 },
    { key: "b", rollout_percentage: 50 },
  ],
};

const SAME: readonly JsonObject[] = [
  { groups: [group(100)] },
  { groups: [group(20, [PLAN]), group(100)] },
  { groups: [] },
  { groups: [group(0)] },
  { groups: [group(100, [], { variant: "a" })], multivariate: SPLIT },
  { groups: [group(100)], multivariate: { variants: [{ key: "a", rollout_percentage: 100 }] } },
];

const DIFFERENT: readonly JsonObject[] = [
  { groups: [group(99)] },
  { groups: [group(100, [PLAN])] },
  { groups: [group(100)], multivariate: SPLIT },
  {
    groups: [group(50, [PLAN], { variant: "a" }), group(100, [], { variant: "b" })],
    multivariate: SPLIT,
  },
  { groups: [group(100)], holdout_groups: [group(5)] },
];

test("a flag is the same for everyone when its rules leave nobody out", () => {
  for (const filters of SAME) {
    assert.ok(isSameForAll({ active: true, filters }), JSON.stringify(filters));
  }
});

test("a flag that gives two people different values is not the same for everyone", () => {
  for (const filters of DIFFERENT) {
    assert.ok(!isSameForAll({ active: true, filters }), JSON.stringify(filters));
  }
});

test("a flag that is off is false for everyone", () => {
  assert.ok(isSameForAll({ active: false, filters: { groups: [group(20)] } }));
});
