import assert from "node:assert/strict";
import { test } from "node:test";
import { daysOf } from "@/experiments/days";
import { bodyOf, newEntry, newFields } from "@/experiments/setup/fields";
import {
  changedMetric,
  isComplete,
  newMetric,
  readMetric,
  textOfMetric,
} from "@/experiments/setup/metric";
import { isPlaced } from "@/experiments/setup/placed";
import { daysOfPlan, newPlan, withPlan } from "@/experiments/setup/plan";
import { seriesOf } from "@/insights/question/model";
import { ApiError } from "@/lib/errors";

const PAID = { kind: "EventsNode", event: "paid" };
const FUNNEL = { kind: "ExperimentMetric", metric_type: "funnel", series: [PAID] };
const PLAN = {
  daily_exposures: 100,
  baseline: null,
  per_variant: 400,
  recommended_sample_size: 800,
  recommended_running_time: 8,
  detectable_effects: [],
  problems: [],
};

const metricOf = (raw: object) => {
  const metric = readMetric({ ...raw });
  assert.ok(metric !== null);
  return metric;
};

test("a metric keeps what the editor does not know, until its kind changes", () => {
  const stored = {
    ...FUNNEL,
    uuid: "u",
    fingerprint: "f",
    funnel_order_type: "unordered",
    conversion_window: 14,
    conversion_window_unit: "day",
  };
  const metric = metricOf(stored);
  assert.equal(metric.raw, stored);
  assert.deepEqual(changedMetric(metric, { goal: "decrease" }).raw, {
    ...stored,
    goal: "decrease",
  });
  const mean = changedMetric(metric, { type: "mean" }).raw;
  assert.deepEqual(mean.source, PAID);
  assert.equal(mean.uuid, "u");
  assert.equal("series" in mean || "funnel_order_type" in mean, false);
});

test("a metric keeps its action and is called by the name of it", () => {
  const action = { kind: "ActionsNode", id: 7, name: "Any sign-up" };
  const stored = { ...FUNNEL, series: [PAID, action] };
  const changed = changedMetric(metricOf(stored), { goal: "decrease" }).raw;
  assert.deepEqual(changed, { ...stored, goal: "decrease" });
  assert.match(textOfMetric(stored) ?? "", /: paid, Any sign-up$/);
  assert.equal(textOfMetric({ ...stored, name: "Sign-ups" }), "Sign-ups");
});

test("metrics that the editor cannot show are not read", () => {
  assert.equal(readMetric({ kind: "ExperimentTrendsQuery", count_query: {} }), null);
  assert.equal(readMetric({ ...FUNNEL, conversion_window_unit: "month" }), null);
  assert.equal(readMetric({ ...FUNNEL, series: [{ ...PAID, math: "hogql" }] }), null);
});

test("a metric is complete with all its events and properties", () => {
  const series = [seriesOf("paid")];
  assert.equal(isComplete(newMetric()), false);
  assert.equal(isComplete(changedMetric(newMetric(), { series })), true);
  const retention = changedMetric(newMetric(), { type: "retention", series });
  assert.equal(isComplete(retention), false);
  assert.equal(isComplete(changedMetric(retention, { second: series })), true);
  const sum = [{ ...seriesOf("paid"), math: "sum" as const }];
  assert.equal(isComplete(changedMetric(newMetric(), { type: "mean", series: sum })), false);
});

test("a metric of which nothing is chosen is not sent", () => {
  const fields = newFields("a", "a");
  assert.deepEqual(bodyOf(fields).metrics, []);
  assert.equal(newPlan(fields, null), null);
});

test("the plan is for the first metric, with the baseline first in an uneven split", () => {
  const metrics = {
    primary: [newEntry(), newEntry(metricOf(FUNNEL))],
    secondary: [],
    guardrail: [],
  };
  const variants = [
    { key: "test", share: 20 },
    { key: "control", share: 80 },
  ];
  assert.deepEqual(newPlan({ ...newFields("a", "a"), metrics, variants }, "seen"), {
    metric: FUNNEL,
    minimum_detectable_effect: 10,
    variants: 2,
    exposure_event: "seen",
    rollout_percentages: [80, 20],
  });
});

test("a share of the people takes longer", () => {
  assert.equal(daysOfPlan(PLAN, null), 8);
  assert.equal(daysOfPlan(PLAN, 100), 8);
  assert.equal(daysOfPlan(PLAN, 50), 16);
  assert.equal(daysOfPlan(PLAN, 0), null);
  const short = { ...PLAN, recommended_sample_size: 300, recommended_running_time: 7 };
  assert.equal(daysOfPlan(short, 50), 7);
  assert.equal(daysOfPlan(short, 10), 30);
  assert.deepEqual(withPlan({ a: 1 }, PLAN, 50), {
    a: 1,
    recommended_sample_size: 800,
    recommended_running_time: 16,
  });
  assert.deepEqual(withPlan({ a: 1 }, undefined, 50), { a: 1 });
});

test("an error is beside its field, or else below the form", () => {
  const metrics = { primary: [newEntry(metricOf(FUNNEL))], secondary: [], guardrail: [] };
  const fields = { ...newFields("a", "a"), metrics };
  const at = (attr: string | null) => isPlaced(new ApiError(400, "invalid", "No.", attr), fields);
  assert.equal(at("name"), true);
  assert.equal(at("metrics__0__series__0__event"), true);
  assert.equal(at("metrics__0__source__math_property"), true);
  assert.equal(at("metrics__0__completion_event"), true);
  assert.equal(at("metrics__1__series"), false);
  assert.equal(at("metrics__0__threshold"), false);
  assert.equal(at("stats_config"), false);
  assert.equal(at(null), false);
});

test("days are whole, and end with the experiment", () => {
  const start_date = "2026-03-01T12:00:00Z";
  const now = Date.parse("2026-03-04T11:00:00Z");
  assert.equal(daysOf({}, now), null);
  assert.equal(daysOf({ start_date }, now), 2);
  assert.equal(daysOf({ start_date, end_date: "2026-03-02T13:00:00Z" }, now), 1);
});
