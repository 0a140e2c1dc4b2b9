import assert from "node:assert/strict";
import { test } from "node:test";
import { filterProblems, patternProblem } from "@/filters/check";
import type { PropertyFilter } from "@/filters/model";
import { asNumber, withOperator } from "@/filters/operators";
import { audienceSentence, filterSentence } from "@/filters/sentence";
import { readFilter, readFilters } from "@/filters/wire";

const PLAN: PropertyFilter = {
  type: "person",
  key: "plan",
  operator: "exact",
  value: ["pro", "team"],
};

const SENTENCES: readonly (readonly [PropertyFilter, string])[] = [
  [PLAN, "`plan` is `pro` or `team`"],
  [{ ...PLAN, negation: true, value: "pro" }, "not: `plan` is `pro`"],
  [{ ...PLAN, operator: "is_set" }, "`plan` is set"],
  [{ ...PLAN, key: "$browser", operator: "icontains", value: "fox" }, "`Browser` contains `fox`"],
  [{ ...PLAN, key: "seats", operator: "between", value: [1, 9] }, "`seats` is between `1` and `9`"],
  [{ ...PLAN, key: "born", operator: "is_date_after", value: "-7d" }, "`born` is after 7 days ago"],
  [
    { ...PLAN, value: ["a", "b", "c", "d", "e", "f", "g"] },
    "`plan` is `a`, `b`, `c`, `d`, `e` or 2 more values",
  ],
  [
    { type: "element", key: "text", operator: "is_not", value: ["Go", "Pay"] },
    "clicked text is not `Go` or `Pay`",
  ],
  [
    { type: "element", key: "selector", operator: "exact", value: "nav > a" },
    "clicked element is `nav > a`",
  ],
  [{ type: "cohort", key: "id", operator: "in", value: 12 }, "in the cohort `Trial`"],
  [{ type: "cohort", key: "id", operator: "not_in", value: 13 }, "not in the cohort number 13"],
  [{ type: "segment", key: "id", operator: "in", value: 5 }, "in the segment `Paying`"],
  [{ type: "segment", key: "id", operator: "not_in" }, "not in the segment …"],
  [
    { type: "flag", key: "beta", operator: "flag_evaluates_to", value: true },
    "the flag `beta` is on",
  ],
  [
    { type: "flag", key: "beta", operator: "flag_evaluates_to", value: "blue" },
    "the flag `beta` is `blue`",
  ],
  [{ type: "person", key: "", operator: "exact" }, "a missing property is …"],
];

const NAMES = {
  cohort: (id: string) => (id === "12" ? "Trial" : undefined),
  segment: (id: string) => (id === "5" ? "Paying" : undefined),
};

for (const [filter, sentence] of SENTENCES) {
  test(`a condition reads: ${sentence}`, () => {
    assert.equal(filterSentence(filter, NAMES), sentence);
  });
}

test("conditions together say whom they select", () => {
  const filters: PropertyFilter[] = [
    PLAN,
    { type: "cohort", key: "id", operator: "in", value: 12 },
    { type: "person", key: "seats", operator: "gte", value: "10" },
    { type: "flag", key: "beta", operator: "flag_evaluates_to", value: false },
  ];

  assert.equal(
    audienceSentence(filters, NAMES),
    "people whose `plan` is `pro` or `team` and `seats` is at least `10`, " +
      "who are in the cohort `Trial`, for whom the flag `beta` is off",
  );
  assert.equal(audienceSentence([], NAMES), "all people");
  assert.equal(
    audienceSentence([PLAN], NAMES, "companies"),
    "companies whose `plan` is `pro` or `team`",
  );
});

const PROBLEMS: readonly (readonly [Partial<PropertyFilter>, string | undefined])[] = [
  [{}, undefined],
  [{ value: "" }, "Enter a value."],
  [{ operator: "gt", value: "ten" }, "Enter a number."],
  [{ operator: "gt", value: "10" }, undefined],
  [{ operator: "between", value: [9, 1] }, "Enter two numbers, the smaller one first."],
  [{ operator: "between", value: ["1", "9"] }, undefined],
  [{ operator: "is_date_after", value: "-7d" }, undefined],
  [{ operator: "is_date_after", value: "2030-01-15" }, undefined],
  [{ operator: "is_date_after", value: "soon" }, "Enter a valid date."],
  [{ operator: "is_set" }, undefined],
  [{ operator: "semver_gt", value: "v1.4" }, undefined],
  [{ operator: "semver_eq", value: "1.4.0-beta.2+7" }, undefined],
  [{ operator: "semver_wildcard", value: "1.4.*" }, undefined],
  [{ operator: "regex", value: "a(?=b)" }, "Look-around and back-references are not supported."],
];

for (const [changes, problem] of PROBLEMS) {
  test(`${JSON.stringify(changes)}: ${problem ?? "no problem"}`, () => {
    assert.equal(filterProblems({ ...PLAN, ...changes }).value, problem);
  });
}

test("patterns of RE2 are no problem, broken ones are", () => {
  for (const pattern of ["(?i)abc", "(?P<name>x)+", "^a\\.b$", "\\d{2,}", "\\-", "[a-z]\\b"]) {
    assert.equal(patternProblem(pattern), null, pattern);
  }
  assert.equal(patternProblem("a(b"), "Invalid pattern: unterminated group");
  assert.notEqual(patternProblem("(a)\\1"), null);
});

test("another operator keeps what it can take of the value", () => {
  assert.equal(withOperator(PLAN, "icontains", "flag").value, "pro");
  assert.deepEqual(withOperator(PLAN, "is_not", "flag").value, ["pro", "team"]);
  assert.equal("value" in withOperator(PLAN, "is_set", "flag"), false);
  assert.equal(withOperator({ ...PLAN, value: "7" }, "gt", "cohort").value, 7);
});

test("flags take the text of a number, others the number", () => {
  assert.equal(asNumber("10", "flag"), "10");
  assert.equal(asNumber("10", "query"), 10);
  assert.equal(asNumber("1e", "query"), "1e");
});

test("stored conditions are read with what else they hold, and unknown kinds are left out", () => {
  assert.deepEqual(readFilter({ key: "plan", value: ["pro"], label: "Plan", type: "person" }), {
    label: "Plan",
    type: "person",
    key: "plan",
    operator: "exact",
    value: ["pro"],
  });
  assert.deepEqual(readFilter({ type: "static-cohort", key: "id", value: 3 }), {
    type: "cohort",
    key: "id",
    operator: "in",
    value: 3,
  });
  assert.deepEqual(
    readFilters([{ type: "behavioral", key: "x" }, { type: "constructor" }, null, "x"]),
    [],
  );
});
