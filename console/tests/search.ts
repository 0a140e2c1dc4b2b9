import assert from "node:assert/strict";
import { test } from "node:test";
import { readCohortSearch } from "@/cohorts/search";
import { readPropertiesSearch } from "@/events/search";
import { readIngestionSearch } from "@/ingestion/search";
import { readPersonSearch, readPersonsSearch } from "@/persons/search";

test("parameters of an address that have no meaning are ignored", () => {
  assert.deepEqual(readCohortSearch({ tab: "none", q: "", page: 1, other: 1 }), {});
  assert.deepEqual(readPropertiesSearch({ of: "team", group: "0", q: null }), {});
  assert.deepEqual(readIngestionSearch({ find: true, letter: "7" }), {});
  assert.deepEqual(readPersonSearch({ groups: { company: "" }, merge: "a" }), {});
  assert.deepEqual(readPersonsSearch({ in: "email", filters: [{ key: "plan" }] }), {});
});

test("a number in an address is a text where the parameter is one", () => {
  assert.deepEqual(readIngestionSearch({ find: 7 }), { find: "7" });
  assert.deepEqual(readPersonSearch({ id: 7, groups: { company: 5 }, merge: [1, "b"] }), {
    id: "7",
    groups: { company: "5" },
    merge: ["1", "b"],
  });
});

test("a page is a whole number after the first", () => {
  assert.deepEqual(readCohortSearch({ page: 2.5 }), { page: 2 });
});
