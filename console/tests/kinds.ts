import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceText } from "@/filters";
import type { Answer } from "@/insights/answers";
import { readLifecycle } from "@/insights/kinds/lifecycle/layers";
import { lifecycleQuery, readLifecycleQuery } from "@/insights/kinds/lifecycle/query";
import { lifecycleSentence } from "@/insights/kinds/lifecycle/sentence";
import { behindPaths, placeOfStep } from "@/insights/kinds/paths/behind";
import { readGraph, shortNames } from "@/insights/kinds/paths/graph";
import { layoutOf } from "@/insights/kinds/paths/layout";
import { pathsQuery, readPathsQuery } from "@/insights/kinds/paths/query";
import { pathsSentence } from "@/insights/kinds/paths/sentence";
import { pathsTable } from "@/insights/kinds/paths/table";
import { nextOf, walkOf } from "@/insights/kinds/paths/walk";
import { behindRetention } from "@/insights/kinds/retention/behind";
import { meansOf, readCohorts } from "@/insights/kinds/retention/cohorts";
import { readRetentionQuery, retentionQuery } from "@/insights/kinds/retention/query";
import { retentionSentence } from "@/insights/kinds/retention/sentence";
import { retentionTable } from "@/insights/kinds/retention/table";
import { behindStickiness } from "@/insights/kinds/stickiness/behind";
import { readStickinessQuery, stickinessQuery } from "@/insights/kinds/stickiness/query";
import { stickinessSentence } from "@/insights/kinds/stickiness/sentence";
import { stickinessTable } from "@/insights/kinds/stickiness/table";
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

/** Expect a question to survive a round trip through the URL and the API. */
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

test("retention survives a round trip through the URL and the API", () => {
  expectToStay(RETENTION, retentionQuery, readRetentionQuery);
  const again = { ...RETENTION, series: RETENTION.series.slice(0, 1), options: {} };
  expectToStay(again, retentionQuery, readRetentionQuery);
});

const RETENTION_OF = (period: string, totalIntervals: number, dateRange: object): Query => ({
  kind: "RetentionQuery",
  dateRange,
  retentionFilter: { period, totalIntervals },
});

test("retention without a start begins as many intervals before its end", () => {
  const cases = [
    ["Week", 12, {}, "-11w"],
    ["Day", 8, { date_from: null }, "-7d"],
    ["Week", 12, { date_to: "2026-05-30" }, "2026-03-14"],
    ["Month", 3, { date_to: "2026-05-31" }, "2026-03-01"],
  ] as const;
  for (const [period, intervals, dateRange, from] of cases) {
    const question = readRetentionQuery(RETENTION_OF(period, intervals, dateRange), new Reading());
    assert.equal(question.dates.from, from);
    assert.equal((retentionQuery(question).dateRange as Query).date_from, undefined);
  }
  const reading = new Reading();
  readRetentionQuery(RETENTION_OF("Week", 12, { date_to: "-1mEnd" }), reading);
  assert.equal(reading.problems.length, 1);
});

test("entries of cohorts have their names, those of an earlier version their ids", () => {
  const question: Question = {
    ...RETENTION,
    breakdowns: [{ type: "cohort", property: "7" }],
    interval: "day",
    options: {},
  };
  const row = { label: "Day 0", date: "2026-03-29T00:00:00+01:00", values: [{ count: 3 }] };
  const named = { ...row, breakdown: "Pros", breakdown_value: 7 };
  const answer = answerOf(retentionQuery(question), [named, { ...row, breakdown_value: 8 }]);

  const { rows } = retentionTable({ question, answer });
  const place = { selected_interval: 0, returning_interval: 0, breakdown_value: 7 };

  assert.deepEqual(
    rows.map(([name]) => String(name).split(",")[0]),
    ["Pros", "8"],
  );
  assert.match(behindRetention({ question, answer }, place)?.name ?? "", /, Pros, /);
});

test("parts that only other kinds use are neither queried nor in the sentence", () => {
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

test("the sentence of retention says everything that is asked", () => {
  assert.equal(
    sentenceText(asSentence(retentionSentence(RETENTION, NAMES))),
    "How many type 1 groups did `signed up` where `plan` is `pro` for the first time ever, per week, " +
      "and how many of them did any event called `Anything` at least 2 times in each of the 2 weeks " +
      "after, or later, last 30 days, broken down by `Browser` (25 values at most), without test " +
      "accounts.",
  );
});

test("rows across a clock change have only known values, the last one still in progress", () => {
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
  const cohorts = readCohorts(answer, question);

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

test("brackets and windows survive a round trip, are in the sentence and name the columns", () => {
  const retention = { retentionCustomBrackets: [1, 3], timeWindowMode: "24_hour_windows" };
  const question: Question = {
    ...RETENTION,
    breakdowns: [],
    interval: "day",
    options: { retention },
  };
  expectToStay(question, retentionQuery, readRetentionQuery);
  assert.match(
    sentenceText(asSentence(retentionSentence(question, NAMES))),
    /for the first time in the period, per day.* in day 1 and days 2–4 after, in windows of 24 hours /,
  );
  const row = (label: number, date: string, ...counts: number[]) => ({
    label: `Day ${label}`,
    date,
    values: counts.map((count) => ({ count })),
  });
  // Whoever began last on the 26th has the fourth window until the 1st.
  const answer = answerOf(retentionQuery(question), [
    row(0, "2026-03-25T00:00:00+01:00", 10, 5, 4),
    row(1, "2026-03-26T00:00:00+01:00", 8, 4, 2),
    row(2, "2026-03-29T00:00:00+01:00", 3, 1),
  ]);

  assert.deepEqual(
    readCohorts(answer, question).map(({ partial }) => partial),
    [undefined, 2, 1],
  );
  assert.deepEqual(retentionTable({ question, answer }).columns.slice(2), [
    "Day 1 (%)",
    "Day 2–4 (%)",
  ]);

  const reading = new Reading();
  const wrong = { ...retentionQuery(question), retentionFilter: { retentionCustomBrackets: [0] } };
  readRetentionQuery(wrong, reading);
  assert.equal(reading.problems.length, 1);
});

test("sums and averages survive a round trip, and shares are of the first one", () => {
  const retention = {
    aggregationType: "avg",
    aggregationProperty: "price",
    retentionReference: "previous",
  };
  const question: Question = {
    ...RETENTION,
    breakdowns: [],
    interval: "day",
    options: { retention },
  };
  expectToStay(question, retentionQuery, readRetentionQuery);
  assert.match(
    sentenceText(asSentence(retentionSentence(question, NAMES))),
    /7 days after and the average per person of the property `price`,/,
  );
  const values = [
    { count: 10, aggregation_value: 8 },
    { count: 5, aggregation_value: 6 },
    { count: 4, aggregation_value: 1.5 },
  ];
  const answer = answerOf(retentionQuery(question), [
    { label: "Day 0", date: "2026-03-25T00:00:00+01:00", values },
    { label: "Day 1", date: "2026-03-26T00:00:00+01:00", values: [values[1], values[2]] },
    { label: "Day 2", date: "2026-03-27T00:00:00+01:00", values: [values[2]] },
  ]);

  const { columns, rows } = retentionTable({ question, answer });
  assert.deepEqual(columns.slice(1), ["Groups", "Day 0", "Day 1 (%)", "Day 2 (%)"]);
  assert.deepEqual(
    rows.map((row) => row.slice(1)),
    [
      [10, 8, 75, 25],
      [5, 6, 25, null],
      [4, 1.5, null, null],
    ],
  );
  // 5 with 6 and 4 with 1.5 each, of 10 with 8 and 5 with 6.
  const means = meansOf(readCohorts(answer, question), 2, "total", "weighted");
  assert.equal(Math.round(means[1] ?? 0), Math.round((36 / 9 / (110 / 15)) * 100));
  assert.match(
    behindRetention({ question, answer }, { selected_interval: 0, returning_interval: 1 })
      ?.description ?? "",
    /Day 1: 6 \(Groups: 5\)$/,
  );
  const incomplete = { ...question, options: { retention: { aggregationType: "sum" } } };
  const { retentionFilter } = retentionQuery(incomplete);
  assert.equal(JSON.stringify(retentionFilter).includes("aggregation"), false);
});

const STICKINESS: Question = {
  ...FIRST,
  kind: "stickiness",
  series: [
    { event: "viewed", math: "total", filters: [PRO] },
    { event: "viewed", math: "total", filters: [] },
  ],
  interval: "week",
  compare: "-1m",
  options: {
    stickiness: {
      computedAs: "cumulative",
      aggregationAxisFormat: "percentage",
      stickinessCriteria: { operator: "exact", value: 2 },
    },
  },
};

test("stickiness survives a round trip through the URL and the API", () => {
  expectToStay(STICKINESS, stickinessQuery, readStickinessQuery);
  expectToStay({ ...STICKINESS, options: {} }, stickinessQuery, readStickinessQuery);
});

test("the sentence of stickiness says everything that is asked", () => {
  assert.equal(
    sentenceText(asSentence(stickinessSentence(STICKINESS, NAMES))),
    "How many persons did `viewed` where `plan` is `pro` and how many persons did `viewed`, on 1, 2, " +
      "3 and so on weeks or more exactly 2 times in each week, last 30 days, compared with 1 month " +
      "earlier, without test accounts.",
  );
});

test("stickiness shares are of everyone who did it, and the previous period has its own persons", () => {
  const place = { stickiness_days: 2, entity_order: 0, date_from: "2026-03-01" };
  const entry = (label: string, data: number[], count: number) => ({
    action: { order: 0 },
    label: "viewed",
    compare_label: label,
    count,
    data,
    persons_urls: [{ filter: {} }, { filter: place }],
  });
  const question: Question = { ...STICKINESS, series: STICKINESS.series.slice(0, 1) };
  const answer = answerOf(stickinessQuery(question), [
    entry("current", [3, 1], 3),
    entry("previous", [8, 2], 8),
  ]);

  const { columns, rows } = stickinessTable({ question, answer });
  assert.deepEqual(columns, ["Weeks", "viewed (%)", "viewed (previous period) (%)"]);
  assert.deepEqual(rows, [
    ["1 week or more", 100, 100],
    ["2 weeks or more", 33.3, 25],
  ]);
  const number = behindStickiness(
    { question, answer },
    { entity_order: 0, stickiness_days: 2, compare_label: "previous" },
  );
  assert.equal(number?.description, "viewed (previous period), 2 weeks or more: 2");
  assert.deepEqual(number?.actors.place, place);
});

const LIFECYCLE: Question = {
  ...FIRST,
  kind: "lifecycle",
  series: [{ event: "viewed", math: "total", filters: [PRO] }],
  interval: "month",
  options: { lifecycle: { toggledLifecycles: ["new", "dormant"] } },
};

test("a life cycle survives a round trip through the URL and the API", () => {
  expectToStay(LIFECYCLE, lifecycleQuery, readLifecycleQuery);
});

test("a life cycle shows only the chosen statuses, and marks an interval still in progress", () => {
  assert.equal(
    sentenceText(asSentence(lifecycleSentence(LIFECYCLE, NAMES))),
    "How many persons who did `viewed` where `plan` is `pro` were new or dormant, per month, last " +
      "30 days, without test accounts.",
  );
  const days = ["2026-02-01", "2026-03-01"];
  const entries = ["new", "returning", "resurrecting", "dormant"].map((status) => ({
    status,
    days,
    data: [1, status === "dormant" ? -2 : 2],
    persons_urls: days.map((date) => ({ filter: { target_date: date, lifecycle_type: status } })),
  }));
  const answer = answerOf(lifecycleQuery(LIFECYCLE), entries);

  const { layers, isPartial } = readLifecycle(answer, "month", ["new", "dormant"]);
  assert.deepEqual(
    layers.map(({ status, counts }) => [status, ...counts]),
    [
      ["new", 1, 2],
      ["dormant", 1, -2],
    ],
  );
  assert.equal(isPartial, true);
  assert.equal(readLifecycle({ ...answer, results: [] }, "day", ["new"]).isPartial, false);
});

const PATHS: Question = {
  ...FIRST,
  kind: "paths",
  options: {
    paths: {
      includeEventTypes: ["$pageview", "custom_event"],
      startPoint: "/",
      endPoint: "/paid",
      stepLimit: 3,
      edgeLimit: 10,
      minEdgeWeight: 0,
      maxEdgeWeight: 9,
      excludeEvents: ["a", "b"],
      pathGroupings: ["/product/*"],
      pathReplacements: true,
      localPathCleaningFilters: [{ regex: "\\d+", alias: "<id>" }],
    },
  },
};

test("paths survive a round trip through the URL and the API", () => {
  expectToStay(PATHS, pathsQuery, readPathsQuery);
  expectToStay({ ...PATHS, options: {} }, pathsQuery, readPathsQuery);
});

test("the sentence of paths says everything that is asked", () => {
  assert.equal(
    sentenceText(asSentence(pathsSentence(PATHS, NAMES))),
    "The paths of persons through page views and own events from `/` to `/paid`, 3 steps at most, " +
      "last 30 days, without `a` and `b`, grouped by `/product/*`, cleaned by the project's rules, " +
      "with names cleaned by 1 rule, 10 most frequent links, links of at least 0 paths, links of " +
      "at most 9 paths, without test accounts.",
  );
});

const PATHS_ANSWER = answerOf(
  pathsQuery(PATHS),
  [
    { source: "1_/", target: "2_/docs", value: 3, average_conversion_time: 160_000 },
    { source: "1_/", target: "2_/a_b", value: 1, average_conversion_time: 1_000 },
  ],
  {
    nodes: [
      { name: "1_/", count: 6, ended: 0 },
      { name: "2_/docs", count: 3, ended: 3 },
      { name: "2_/a_b", count: 1, ended: 1 },
    ],
    other_edges: [{ source: "1_/", target: "2_…other", value: 2 }],
  },
);

test("the numbers of paths add up: links, steps that are not shown, and ends", () => {
  const graph = readGraph(PATHS_ANSWER);
  assert.deepEqual(
    graph.steps.map(({ name, column, count, isOther }) => [name, column, count, isOther]),
    [
      ["/", 1, 6, false],
      ["/docs", 2, 3, false],
      ["/a_b", 2, 1, false],
      ["…other", 2, 2, true],
    ],
  );
  assert.deepEqual(pathsTable({ answer: PATHS_ANSWER }).rows, [
    ["1. / → /docs", 3, 160],
    ["1. / → Other steps", 2, null],
    ["1. / → /a_b", 1, 1],
    ["2. /docs → (ended)", 3, null],
    ["2. /a_b → (ended)", 1, null],
  ]);
  const place = { path_start_key: "1_/", path_end_key: "2_…other" };
  assert.equal(
    behindPaths({ question: PATHS, answer: PATHS_ANSWER }, place)?.description,
    "/ → Other steps: 2 paths",
  );
  assert.deepEqual(graph.steps.map(placeOfStep), [
    { path_start_key: "1_/" },
    { path_end_key: "2_/docs" },
    { path_end_key: "2_/a_b" },
    null,
  ]);
});

test("steps do not touch, and links stay within the height of their steps", () => {
  const { steps, links } = layoutOf(readGraph(PATHS_ANSWER));
  const second = steps.filter(({ column }) => column === 2);
  second.slice(1).forEach((step, place) => {
    const before = second[place];
    assert.ok(before !== undefined && step.y > before.y + before.height);
  });
  assert.deepEqual(second.at(-1)?.isOther, true);
  for (const { from, to, source, target, width } of links) {
    for (const [key, { y }] of [
      [source, from],
      [target, to],
    ] as const) {
      const step = steps.find((one) => one.key === key);
      assert.ok(step !== undefined && y - width / 2 >= step.y - 0.01);
      assert.ok(y + width / 2 <= step.y + step.height + 0.01);
    }
  }
});

test("arrow keys move along the paths and back", () => {
  const walk = walkOf(layoutOf(readGraph(PATHS_ANSWER)));
  const keys = [
    "ArrowRight",
    "ArrowDown",
    "ArrowRight",
    "ArrowRight",
    "ArrowLeft",
    "ArrowLeft",
    "ArrowLeft",
  ];
  let at = "step 1_/";
  const names = keys.map((key) => {
    at = nextOf(walk, at, key) ?? at;
    return walk.get(at)?.label;
  });
  assert.deepEqual(names, [
    "/ → /docs: 3 paths, 2 min 40 s on average",
    "/ → /a_b: 1 path, 1 s on average",
    "Step 2, /a_b: 1 path",
    "Step 2, /a_b: 1 ended",
    "Step 2, /a_b: 1 path",
    "/ → /a_b: 1 path, 1 s on average",
    "Step 1, /: 6 paths",
  ]);
});

test("URLs of a single site drop the host, and long names lose their middle", () => {
  const step = (name: string) => ({
    key: `1_${name}`,
    column: 1,
    name,
    isOther: false,
    count: 1,
    ended: 0,
  });
  const of = (...names: string[]) => [...shortNames(names.map(step)).values()];

  assert.deepEqual(of("https://a.example", "https://a.example/x?y=1", "paid"), [
    "/",
    "/x?y=1",
    "paid",
  ]);
  assert.deepEqual(of("https://a.example/x", "https://b.example/x"), [
    "a.example/x",
    "b.example/x",
  ]);
  const [long = ""] = of(`begin${"x".repeat(300)}end`);
  assert.match(long, /^begin.*….*end$/);
  assert.equal([...long].length, 65);
});
