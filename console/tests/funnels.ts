import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceText } from "@/filters";
import { correlationQuery } from "@/insights/kinds/funnels/correlation";
import { readOptions, withOptions, writeOptions } from "@/insights/kinds/funnels/options";
import { funnelsQuery, readFunnelsQuery } from "@/insights/kinds/funnels/query";
import { funnelsSentence } from "@/insights/kinds/funnels/sentence";
import { readQuestion, writeQuestion } from "@/insights/question/address";
import { FIRST, type Question } from "@/insights/question/model";
import { Reading } from "@/insights/question/reading";
import { asSentence } from "@/insights/question/sentence";
import { filtersOf } from "@/insights/question/wire";

const PRO = { type: "person", key: "plan", operator: "exact", value: ["pro"] } as const;
const FUNNEL: Question = {
  ...FIRST,
  kind: "funnels",
  series: ["seen", "tried", "paid"].map((event) => ({ event, math: "total", filters: [] })),
};
/** A question that uses every feature of funnels. */
const FULL: Question = {
  ...FUNNEL,
  series: [
    { event: "seen", math: "total", name: "Visit", filters: [PRO] },
    { event: null, math: "total", filters: [] },
    { event: "paid", math: "total", filters: [] },
  ],
  filters: [{ type: "cohort", key: "id", operator: "in", value: 3 }],
  withoutTests: false,
  breakdowns: [{ type: "event", property: "$browser" }],
  breakdownLimit: 10,
  dates: { from: "2026-05-01", to: "2026-05-14" },
  interval: "week",
  groupTypeIndex: 1,
  options: {
    funnels: {
      funnelVizType: "trends",
      funnelOrderType: "strict",
      funnelWindowInterval: 3,
      funnelWindowIntervalUnit: "hour",
      exclusions: [
        {
          kind: "EventsNode",
          event: "left",
          properties: [PRO],
          funnelFromStep: 0,
          funnelToStep: 2,
        },
      ],
      funnelFromStep: 1,
      breakdownAttributionType: "step",
      breakdownAttributionValue: 1,
      funnelStepReference: "previous",
      layout: "horizontal",
    },
  },
};
const NAMES = { cohort: () => "Trial", groupType: (index: number) => `type ${index}` };
const saidOf = (question: Question) => sentenceText(asSentence(funnelsSentence(question, NAMES)));

test("a funnel survives a round trip through the URL and the API", () => {
  for (const question of [FULL, FUNNEL]) {
    const search = JSON.parse(JSON.stringify(writeQuestion(question)));
    assert.deepEqual(readQuestion(search), { question, problems: [] });

    const reading = new Reading();
    const query = JSON.parse(JSON.stringify(funnelsQuery(question)));
    assert.deepEqual(readFunnelsQuery(query, reading), question);
    assert.deepEqual(reading.problems, []);
  }
});

test("a funnel within sessions and an exclusion of several events survive a round trip", () => {
  const exclusion = {
    kind: "GroupNode",
    operator: "OR",
    nodes: [
      { kind: "EventsNode", event: "left" },
      { kind: "EventsNode", event: "closed" },
    ],
    funnelFromStep: 0,
    funnelToStep: 1,
  };
  const funnels = { exclusions: [exclusion], funnelAggregateByHogQL: "properties.$session_id" };
  const question: Question = { ...FUNNEL, options: { funnels } };

  const query = JSON.parse(JSON.stringify(funnelsQuery(question)));
  assert.deepEqual(query.funnelsFilter, funnels);
  assert.deepEqual(readFunnelsQuery(query, new Reading()), question);
  assert.match(
    saidOf(question),
    /^Of the sessions who did .*without sessions who did `left` or `closed`/,
  );
  const older = writeOptions(readOptions({ funnel_aggregate_by_hogql: "properties.plan" }));
  assert.deepEqual(older, { funnelAggregateByHogQL: "properties.plan" });
  assert.deepEqual(writeOptions(readOptions({ funnelAggregateByHogQL: "person_id" })), {});
});

test("parts a funnel does not use stay in the question but out of its query and sentence", () => {
  const [first, ...others] = FUNNEL.series;
  assert.ok(first);
  const question: Question = {
    ...FUNNEL,
    series: [{ ...first, math: "sum", mathProperty: "amount" }, ...others],
    breakdowns: [{ type: "event", property: "amount", bins: 4 }],
    compare: true,
    interval: "week",
    options: { trends: { formulas: ["A/B"] }, funnels: { funnelFromStep: 1, binCount: 5 } },
  };
  const query = funnelsQuery(question);

  assert.deepEqual(query.series, [
    { kind: "EventsNode", event: "seen" },
    { kind: "EventsNode", event: "tried" },
    { kind: "EventsNode", event: "paid" },
  ]);
  assert.deepEqual(query.breakdownFilter, { breakdowns: [{ property: "amount", type: "event" }] });
  for (const name of ["interval", "compareFilter", "trendsFilter", "funnelsFilter"])
    assert.equal(query[name], undefined);
  const times = withOptions(question, { visualization: "time_to_convert" });
  assert.equal(funnelsQuery(times).breakdownFilter, undefined);
  assert.deepEqual(funnelsQuery(times).funnelsFilter, {
    funnelVizType: "time_to_convert",
    funnelFromStep: 1,
    binCount: 5,
  });
});

test("names of older clients are read, and problems are reported with their location", () => {
  const reading = new Reading();
  const options = readOptions(
    { funnel_viz_type: "trends", funnel_window_days: 7, funnel_order_type: "strict" },
    reading,
  );
  assert.deepEqual(writeOptions(options), {
    funnelVizType: "trends",
    funnelOrderType: "strict",
    funnelWindowInterval: 7,
  });
  assert.deepEqual(reading.problems, []);

  const other = new Reading();
  readOptions({ funnelWindowInterval: 0, funnelOrderType: "any", exclusions: ["x"] }, other);
  const places = other.problems.map((problem) => problem.split(" cannot")[0]);
  assert.deepEqual(places, [
    "funnelsFilter.funnelOrderType",
    "funnelsFilter.funnelWindowInterval",
    "funnelsFilter.exclusions[0]",
  ]);
});

test("a query whose steps do not count persons is refused, not changed", () => {
  const reading = new Reading();
  const steps = [{ kind: "EventsNode", event: "a", math: "sum", math_property: "x" }];
  readFunnelsQuery({ kind: "FunnelsQuery", series: steps }, reading);

  assert.match(reading.problems.join(), /^series\[0\]\.math cannot be used: "sum"/);
});

test("persons are requested with filters, and a correlation without a breakdown", () => {
  const filters = filtersOf(funnelsQuery(FULL));
  assert.equal(filters.funnel_window_interval, 3);
  assert.equal(filters.breakdown_attribution_value, 1);
  const [exclusion] = filters.exclusions as Record<string, unknown>[];
  assert.deepEqual(
    [exclusion?.id, exclusion?.funnel_from_step, exclusion?.funnel_to_step],
    ["left", 0, 2],
  );

  const { source, ...correlation } = correlationQuery(funnelsQuery(FULL), "properties");
  assert.deepEqual(correlation, {
    kind: "FunnelCorrelationQuery",
    funnelCorrelationType: "properties",
    funnelCorrelationNames: ["$all"],
  });
  assert.equal((source as Record<string, unknown>).breakdownFilter, undefined);
});

test("the sentence of a funnel says everything that is asked", () => {
  const ending = "within 14 days of the first, last 30 days, without test accounts.";
  assert.equal(
    saidOf(FUNNEL),
    `Of the persons who did \`seen\`, how many then did \`tried\` and then \`paid\`, ${ending}`,
  );
  assert.equal(
    saidOf(withOptions(FUNNEL, { order: "strict" })),
    "Of the persons who did `seen`, how many did, as their very next event, `tried` and right " +
      `after that \`paid\`, ${ending}`,
  );
  assert.equal(
    saidOf(withOptions(FUNNEL, { order: "unordered" })),
    "Of the persons who did any of `seen`, `tried` and `paid`, how many did how many of them, in " +
      `any order, ${ending}`,
  );
  assert.equal(
    saidOf(withOptions(FUNNEL, { visualization: "time_to_convert", to: 1 })),
    `How long persons who did \`seen\` and then \`tried\` took from step 1 to step 2, ${ending}`,
  );
  assert.equal(
    saidOf(FULL),
    "Of the type 1 groups who did `seen` called `Visit` where `plan` is `pro` and right after " +
      "that any event, what share did, as their very next event, `paid`, within 3 hours of the " +
      "first, without type 1 groups who did `left` where `plan` is `pro` between step 1 and step " +
      "3, by the week of the first step, 1–14 May 2026, counting only events where in the cohort " +
      "`Trial`, broken down by `Browser` (10 values at most), each with the value at step 2, test " +
      "accounts included.",
  );
});
