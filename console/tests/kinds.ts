import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceText } from "@/filters";
import type { Answer } from "@/insights/answers";
import { behindRetention } from "@/insights/kinds/retention/behind";
import { meansOf, readCohorts } from "@/insights/kinds/retention/cohorts";
import { readRetentionQuery, retentionQuery } from "@/insights/kinds/retention/query";
import { retentionSentence } from "@/insights/kinds/retention/sentence";
import { retentionTable } from "@/insights/kinds/retention/table";
import { readQuestion, writeQuestion } from "@/insights/question/address";
import { FIRST, type Question } from "@/insights/question/model";
import { Reading } from "@/insights/question/reading";
import { asSentence } from "@/insights/question/sentence";
import type { Query } from "@/insights/question/wire";

const PRO = { type: "person", key: "plan", operator: "exact", value: ["pro"] } as const;
const NAMES = { cohort: () => "Trial", groupType: (index: number) => `type ${index}` };
const answerOf = (query: Query, results: unknown, beside: Answer["beside"] = {}): Answer => ({
  query,
  results,
  beside,
  zone: "Europe/Berlin",
  calculatedAt: new Date("2026-03-31T12:00Z"),
});

/** Expect a question to be the same after a way through the address, and through the API. */
function expectToStay(
  question: Question,
  write: (question: Question) => Query,
  read: (query: Query, reading: Reading) => Question,
): void {
  const search = JSON.parse(JSON.stringify(writeQuestion(question)));
  assert.deepEqual(readQuestion(search), { question, problems: [] });
  const reading = new Reading();
  assert.deepEqual(read(JSON.parse(JSON.stringify(write(question))), reading), question);
  assert.deepEqual(reading.problems, []);
}

const RETENTION: Question = {
  ...FIRST,
  kind: "retention",
  series: [
    { event: "signed up", math: "total", filters: [PRO] },
    { event: null, math: "total", name: "Anything", filters: [] },
  ],
  interval: "week",
  groupTypeIndex: 1,
  breakdowns: [{ type: "event", property: "$browser" }],
  options: {
    retention: {
      retentionType: "retention_first_time",
      totalIntervals: 3,
      cumulative: true,
      minimumOccurrences: 2,
      retentionReference: "previous",
      meanRetentionCalculation: "simple",
    },
  },
};

test("retention is the same after a way through the address, and through the API", () => {
  expectToStay(RETENTION, retentionQuery, readRetentionQuery);
  const again = { ...RETENTION, series: RETENTION.series.slice(0, 1), options: {} };
  expectToStay(again, retentionQuery, readRetentionQuery);
});

test("what others kinds ask for is not asked for, nor said", () => {
  const series = [
    { event: "a", math: "sum", mathProperty: "x", filters: [] },
    { event: "b", math: "dau", filters: [] },
    { event: "c", math: "total", filters: [] },
  ] as const;
  const breakdowns = [{ type: "event", property: "size", bins: 4 }] as const;
  const question: Question = {
    ...RETENTION,
    series,
    breakdowns,
    interval: "minute",
    compare: true,
  };

  const text = JSON.stringify(retentionQuery(question));
  assert.equal(/sum|dau|"c"|bin|compare|minute/.test(text), false, text);
  const said = sentenceText(asSentence(retentionSentence(question, NAMES)));
  assert.equal(/range|minute|compared|`c`/.test(said), false, said);
});

test("the sentence of retention says all that is asked", () => {
  assert.equal(
    sentenceText(asSentence(retentionSentence(RETENTION, NAMES))),
    "How many type 1 groups did `signed up` where `plan` is `pro` for the first time ever, per week, " +
      "and how many of them did any event called `Anything` at least 2 times in each of the 2 weeks " +
      "after, or later, last 30 days, broken down by `Browser` (25 values at most), without test " +
      "accounts.",
  );
});

test("rows over a change of the clock have as many values as are known, the last not over", () => {
  const question: Question = { ...RETENTION, breakdowns: [], interval: "day", options: {} };
  const row = (label: number, date: string, ...counts: number[]) => ({
    label: `Day ${label}`,
    date,
    values: counts.map((count) => ({ count })),
  });
  // The clock changes on 29 March.
  const answer = answerOf(retentionQuery(question), [
    row(0, "2026-03-29T00:00:00+01:00", 10, 5, 4),
    row(1, "2026-03-30T00:00:00+02:00", 30, 3),
    row(2, "2026-03-31T00:00:00+02:00", 2),
  ]);
  const cohorts = readCohorts(answer, "day");

  assert.deepEqual(
    cohorts.map(({ partial }) => partial),
    [2, 1, 0],
  );
  assert.deepEqual(meansOf(cohorts, 3, "total", "weighted"), [100, 50, null]);
  assert.deepEqual(meansOf(cohorts, 3, "total", "simple"), [100, 50, null]);
  const { columns, rows } = retentionTable({ question, answer });
  assert.deepEqual(columns, ["Began", "Groups", "Day 1 (%)", "Day 2 (%)"]);
  assert.deepEqual(
    rows.map((values) => values.slice(1)),
    [
      [10, 50, 40],
      [30, 10, null],
      [2, null, null],
    ],
  );
  const asked = { question, answer };
  assert.match(
    behindRetention(asked, { returning_interval: 1, selected_interval: 0 })?.description ?? "",
    /^signed up, .*29.*, Anything, Day 1: 5$/,
  );
  assert.equal(behindRetention(asked, { selected_interval: 2, returning_interval: 1 }), null);
});
