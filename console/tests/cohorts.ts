import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOf } from "@/cohorts/criteria/model";

const SEQUENCE = {
  type: "behavioral",
  key: "paid",
  event_type: "events",
  value: "performed_event_sequence",
  seq_event: "left",
  seq_event_type: "events",
};

test("conditions on actions are of no kind that can be edited", () => {
  assert.equal(kindOf(SEQUENCE), "performed_event_sequence");
  assert.equal(kindOf({ ...SEQUENCE, key: 7, event_type: "actions" }), null);
  assert.equal(kindOf({ ...SEQUENCE, seq_event: 7, seq_event_type: "actions" }), null);
});
