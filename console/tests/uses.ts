import assert from "node:assert/strict";
import { test } from "node:test";
import { names } from "@/events/uses";

const USES: readonly unknown[] = [
  { events: [{ id: "paid", math: "total" }] },
  { insight: "FUNNELS", events: [{ id: "seen" }, { id: "paid", order: 1 }] },
  { insight: "FUNNELS", events: [], exclusions: [{ id: "paid", funnel_from_step: 0 }] },
  { target_entity: { id: "paid", type: "events" }, returning_entity: null },
  { start_point: "paid" },
  { exclude_events: ["seen", "paid"] },
  { kind: "InsightVizNode", source: { series: [{ kind: "EventsNode", event: "paid" }] } },
  { source: { kind: "FunnelsQuery", funnelsFilter: { exclusions: [{ event: "paid" }] } } },
  { source: { retentionFilter: { returningEntity: { id: "paid", type: "events" } } } },
  { kind: "HogQLQuery", query: "SELECT count() FROM events WHERE event = 'paid'" },
  { properties: { values: [{ type: "behavioral", key: "seen", seq_event: "paid" }] } },
];

test("an event is used by every kind of question that names it", () => {
  for (const part of USES) assert.ok(names(part, "paid"), JSON.stringify(part));
});

test("an event is not used by a property, a value or an action with its name", () => {
  for (const part of [
    { properties: [{ key: "paid", value: "paid", type: "event" }] },
    { name: "paid", description: "paid" },
    { events: [{ id: "paid", type: "actions" }] },
    { kind: "HogQLQuery", query: "SELECT paid FROM events" },
  ]) {
    assert.ok(!names(part, "paid"), JSON.stringify(part));
  }
});
