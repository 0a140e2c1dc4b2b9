import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceText } from "@/filters";
import type { Answer } from "@/insights/answers";
import { behindTrend } from "@/insights/kinds/trends/behind";
import { readOptions, writeOptions } from "@/insights/kinds/trends/options";
import { readTrendsQuery, trendsQuery } from "@/insights/kinds/trends/query";
import { trendsSentence } from "@/insights/kinds/trends/sentence";
import { trendsTable } from "@/insights/kinds/trends/table";
import { readQuestion, writeQuestion } from "@/insights/question/address";
import { FIRST, type Question } from "@/insights/question/model";
import { queryOfFilters } from "@/insights/question/older";
import { Reading } from "@/insights/question/reading";
import { asSentence } from "@/insights/question/sentence";
import { filtersOf } from "@/insights/question/wire";

const PRO = { type: "person", key: "plan", operator: "exact", value: ["pro"] } as const;
/** A question that uses every feature of trends. */
const FULL: Question = {
  kind: "trends",
  series: [
    { event: "paid", math: "sum", mathProperty: "amount", name: "Income", filters: [PRO] },
    { event: null, math: "unique_group", groupTypeIndex: 1, filters: [] },
    { event: "$pageview", math: "p90", mathProperty: "age", isOfPerson: true, filters: [] },
  ],
  filters: [{ type: "cohort", key: "id", operator: "in", value: 3 }],
  withoutTests: false,
  breakdowns: [
    { type: "event", property: "$browser", bins: 4 },
    { type: "group", property: "size", groupTypeIndex: 2 },
  ],
  breakdownLimit: 10,
  hidesOther: true,
  dates: { from: "2026-05-01", to: "2026-05-14" },
  interval: "week",
  compare: "-1y",
  options: {
    trends: {
      display: "ActionsBar",
      formulaNodes: [{ formula: "A / B", custom_name: "Ratio" }, { formula: "A" }],
      smoothingIntervals: 7,
    },
  },
};
const NAMES = { cohort: () => "Trial", groupType: (index: number) => `type ${index}` };
const saidOf = (question: Question) => sentenceText(asSentence(trendsSentence(question, NAMES)));

test("a question survives a round trip through the URL and the API", () => {
  for (const question of [FULL, { ...FIRST, series: [{ event: "a", math: "dau", filters: [] }] }]) {
    const search = JSON.parse(JSON.stringify(writeQuestion(question as Question)));
    assert.deepEqual(readQuestion(search), { question, problems: [] });

    const reading = new Reading();
    const query = JSON.parse(JSON.stringify(trendsQuery(question as Question)));
    assert.deepEqual(readTrendsQuery(query, reading), question);
    assert.deepEqual(reading.problems, []);
  }
});

test("hours of a week are of one series without a breakdown, and each opens its persons", () => {
  const trends = { display: "CalendarHeatmap" };
  const question: Question = {
    ...FULL,
    options: { trends: { ...FULL.options.trends, ...trends } },
  };

  const query = trendsQuery(question);
  assert.equal((query.series as unknown[]).length, 1);
  assert.deepEqual(query.trendsFilter, trends);
  assert.equal(/breakdown|compare|formula/.test(JSON.stringify(query)), false);
  assert.match(saidOf(question), /`paid` called `Income`.*, per hour of each weekday, /);
  const counted = { ...question, series: [{ event: "a", math: "weekly_active", filters: [] }] };
  assert.match(JSON.stringify(trendsQuery(counted as Question)), /"math":"dau"/);

  const answer: Answer = {
    query,
    results: [
      {
        label: "Income",
        action: { order: 0 },
        calendar_heatmap_data: {
          data: [{ row: 6, column: 12, value: 7 }],
          rowAggregations: [{ row: 6, value: 8 }],
          columnAggregations: [{ column: 12, value: 9 }],
          allAggregations: 10,
        },
      },
    ],
    beside: {},
    zone: "Europe/Berlin",
    calculatedAt: new Date("2026-03-31T12:00Z"),
  };
  const { columns, rows } = trendsTable({ question, answer });
  assert.deepEqual([columns.length, columns[13], columns.at(-1)], [26, "12:00", "All hours"]);
  assert.deepEqual([rows[5]?.[0], rows[5]?.[13], rows[5]?.at(-1)], ["Saturday", 7, 8]);
  assert.deepEqual([rows[7]?.[0], rows[7]?.[13], rows[7]?.at(-1)], ["All days", 9, 10]);
  const place = { entity_order: 0, weekday: "6", hour: "12" };
  assert.equal(
    behindTrend({ question, answer }, place)?.description,
    "Income, Saturday, 12:00 to 13:00: 7",
  );
});

test("a series of an action survives a round trip, and requests persons by its id", () => {
  const action = { id: 7, name: "Paid" };
  const question: Question = {
    ...FIRST,
    series: [{ event: null, action, math: "dau", filters: [] }],
  };

  const search = JSON.parse(JSON.stringify(writeQuestion(question)));
  assert.deepEqual(readQuestion(search), { question, problems: [] });
  const query = JSON.parse(JSON.stringify(trendsQuery(question)));
  assert.deepEqual(readTrendsQuery(query, new Reading()), question);
  const older = queryOfFilters({ actions: [{ id: "7", name: "Paid", math: "dau" }] });
  assert.deepEqual(readTrendsQuery(older, new Reading()).series, question.series);
  const [entity] = filtersOf(query).events as Record<string, unknown>[];
  assert.deepEqual([entity?.id, entity?.type], [7, "actions"]);
  assert.match(saidOf(question), /`Paid`/);
});

test("several events of one series survive a round trip, and the sentence joins them", () => {
  const question: Question = {
    ...FIRST,
    series: [
      {
        event: "paid",
        others: [{ event: "renewed" }, { event: null, action: { id: 7, name: "Won" } }],
        math: "dau",
        filters: [PRO],
      },
    ],
  };

  const search = JSON.parse(JSON.stringify(writeQuestion(question)));
  assert.deepEqual(readQuestion(search), { question, problems: [] });
  const query = JSON.parse(JSON.stringify(trendsQuery(question)));
  assert.deepEqual(readTrendsQuery(query, new Reading()), question);
  const filters = filtersOf(query);
  assert.deepEqual(readTrendsQuery(queryOfFilters(filters), new Reading()).series, question.series);
  assert.match(saidOf(question), /^How many persons did `paid` or `renewed` or `Won` where/);
  const reading = new Reading();
  const node = { kind: "EventsNode", event: "a", properties: [PRO] };
  readTrendsQuery({ ...query, series: [{ kind: "GroupNode", nodes: [node] }] }, reading);
  assert.equal(reading.problems.length, 1);
});

test("sums per person of multiplied values survive a round trip, and the sentence says them", () => {
  const question: Question = {
    ...FIRST,
    series: [
      {
        event: "paid",
        math: "p90_sum_per_actor",
        mathProperty: "amount",
        multiplier: 0.01,
        filters: [],
      },
    ],
    interval: "quarter",
  };

  const search = JSON.parse(JSON.stringify(writeQuestion(question)));
  assert.deepEqual(readQuestion(search), { question, problems: [] });
  const query = JSON.parse(JSON.stringify(trendsQuery(question)));
  assert.deepEqual(readTrendsQuery(query, new Reading()), question);
  assert.match(
    saidOf(question),
    /^The 90th percentile of each person's sum of `amount` times `0.01` of `paid`, per quarter/,
  );
  const [none] = [0, "x"].map((math_multiplier) => readQuestion({ series: [{ math_multiplier }] }));
  assert.equal(none?.problems.length, 1);
});

test("an incomplete breakdown stays in the URL", () => {
  for (const type of ["event", "cohort"] as const) {
    const question: Question = { ...FIRST, breakdowns: [{ type, property: "" }] };
    const search = JSON.parse(JSON.stringify(writeQuestion(question)));
    assert.deepEqual(readQuestion(search), { question, problems: [] });
  }
});

test("a URL without parameters is the initial question, and all time has a name", () => {
  assert.deepEqual(readQuestion({}), { question: FIRST, problems: [] });
  const { dates } = readQuestion({ ...writeQuestion({ ...FIRST, dates: {} }) }).question;
  assert.deepEqual(dates, {});
});

test("invalid parts are left out and reported with their location", () => {
  const { question, problems } = readQuestion({
    series: [{ event: "a", math: "mode", colour: 1 }, "b"],
    properties: { type: "OR", values: [PRO, PRO] },
    breakdowns: [{ property: "x", histogram_bin_count: 0 }],
    compare: "soon",
    from: "yesterday",
    limit: 501,
    unheard: 1,
  });

  assert.deepEqual(question, {
    ...FIRST,
    series: [{ event: "a", math: "total", filters: [] }],
    breakdowns: [{ type: "event", property: "x" }],
  });
  const places = problems.map((problem) => problem.split(" cannot")[0]);
  assert.deepEqual(places.toSorted(), [
    "breakdowns[0].histogram_bin_count",
    "compare",
    "from and to",
    "limit",
    "properties",
    "series[0].colour",
    "series[0].math",
    "series[1]",
    "unheard",
  ]);
});

test("names of older clients are read", () => {
  const reading = new Reading();
  const options = readOptions({ formula: "A+B", smoothing_intervals: 3 }, reading);

  assert.deepEqual(writeOptions(options), { formulas: ["A+B"], smoothingIntervals: 3 });
  assert.deepEqual(reading.problems, []);
});

test("nested lists of ANDed conditions become one list", () => {
  const tree = {
    type: "AND",
    values: [
      { type: "AND", values: [PRO] },
      { type: "OR", values: [PRO] },
    ],
  };

  const { question, problems } = readQuestion({ properties: tree });

  assert.deepEqual(question.filters, [PRO, PRO]);
  assert.deepEqual(problems, []);
});

test("a query requests persons with filters", () => {
  const filters = filtersOf(trendsQuery(FULL));

  assert.equal(filters.date_from, "2026-05-01");
  assert.equal(filters.compare_to, "-1y");
  assert.equal(filters.smoothing_intervals, 7);
  assert.equal(filters.breakdown_limit, 10);
  assert.equal(filters.filter_test_accounts, false);
  assert.deepEqual(filters.formulaNodes, FULL.options.trends?.formulaNodes);
  const [first] = filters.events as Record<string, unknown>[];
  assert.deepEqual([first?.id, first?.order, first?.math], ["paid", 0, "sum"]);
});

test("the sentence says everything that is asked", () => {
  const series = [{ event: "paid", math: "total", filters: [PRO] }] as const;
  assert.equal(
    saidOf({ ...FIRST, series }),
    "How often `paid` happened where `plan` is `pro`, per day, last 30 days, without test accounts.",
  );
  assert.equal(
    saidOf(FULL),
    "`A / B` and `A`, where `A` is the sum of `amount` of `paid` called `Income` where `plan` is " +
      "`pro`, `B` is for how many type 1 groups any event and `C` is the 90th percentile of `age` " +
      "of the person of `Pageview`, per week, each the average of the last 7, rounded down, " +
      "1–14 May 2026, where in the cohort `Trial`, broken down by `Browser` in 4 ranges and `size` " +
      "of the type 2 (10 values at most), without the other values, compared with 1 year earlier, " +
      "test accounts included.",
  );
});

test("expressions in SQL are kept, sent and said", () => {
  const held = { type: "hogql", key: "properties.a = 1", operator: "exact" } as const;
  const question: Question = {
    ...FIRST,
    series: [{ event: "paid", math: "hogql", sql: "count() / 2", filters: [held] }],
    breakdowns: [{ type: "hogql", property: "lower(properties.plan)" }],
  };
  const search = JSON.parse(JSON.stringify(writeQuestion(question)));
  const query = JSON.parse(JSON.stringify(trendsQuery(question)));

  assert.deepEqual(readQuestion(search), { question, problems: [] });
  assert.deepEqual(readTrendsQuery(query, new Reading()), question);
  assert.equal(query.series[0].math_hogql, "count() / 2");
  assert.match(
    saidOf(question),
    /^`count\(\) \/ 2` of `paid` where `properties\.a = 1`, .*by `lower\(properties\.plan\)`/,
  );
});
