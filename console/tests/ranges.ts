import assert from "node:assert/strict";
import { test } from "node:test";
import { readIngestionSearch } from "@/ingestion/search";
import { instantsOf, nameOfRange, previousDays, readRange, readRangeSearch } from "@/ui/ranges";

const USUAL = { from: "-30d" };
// A Thursday; in Auckland it is Friday already.
const NOW = new Date("2026-05-14T12:30:00Z");

test("a period in the address is one that moves along, or days", () => {
  for (const search of [
    { from: "-7d" },
    { from: "-24h" },
    { from: "dStart" },
    { from: "-1mStart", to: "-1mEnd" },
    { from: "2026-05-01", to: "2026-05-14" },
    { to: "2026-05-14" },
  ]) {
    assert.deepEqual(readRange(readRangeSearch(search), USUAL), {
      range: search,
      isCompared: false,
      isUnknown: false,
    });
  }
});

test("an invalid period is replaced by the default, with a note", () => {
  for (const search of [
    { from: "yesterday" },
    { from: "2026-02-31" },
    { from: "-0d" },
    { from: "2026-05-14", to: "2026-05-01" },
    { from: "-7d", to: "soon" },
    { from: 7 },
  ]) {
    const { range, isUnknown } = readRange(readRangeSearch(search), USUAL);

    assert.deepEqual([range, isUnknown], [USUAL, true], JSON.stringify(search));
  }
  assert.equal(readRange({}, USUAL).isUnknown, false);
});

test("only true compares", () => {
  assert.equal(readRange(readRangeSearch({ compare: true }), USUAL).isCompared, true);
  assert.deepEqual(readRangeSearch({ compare: "yes" }), {});
});

test("days begin and end in the zone of the project", () => {
  const instants = (range: Parameters<typeof instantsOf>[0], zone: string) => {
    const { since, until } = instantsOf(range, zone, NOW);
    return [since?.toISOString(), until?.toISOString()];
  };

  assert.deepEqual(instants({ from: "2026-05-01", to: "2026-05-02" }, "Europe/Berlin"), [
    "2026-04-30T22:00:00.000Z",
    "2026-05-02T22:00:00.000Z",
  ]);
  assert.deepEqual(instants({ from: "dStart" }, "Pacific/Auckland"), [
    "2026-05-14T12:00:00.000Z",
    undefined,
  ]);
  assert.deepEqual(instants({ from: "-1mStart", to: "-1mEnd" }, "UTC"), [
    "2026-04-01T00:00:00.000Z",
    "2026-05-01T00:00:00.000Z",
  ]);
  assert.deepEqual(instants({ from: "-24h" }, "Europe/Berlin"), [
    "2026-05-13T12:30:00.000Z",
    undefined,
  ]);
  assert.deepEqual(instants({ from: "-7d" }, "UTC")[0], "2026-05-07T00:00:00.000Z");
});

test("the previous period has the same weekdays, or the same length", () => {
  const days = ["2026-05-07", "2026-05-14"];

  assert.deepEqual(previousDays({ from: "-7d" }, days), { from: "2026-04-30", to: "2026-05-07" });
  assert.deepEqual(
    previousDays({ from: "2026-05-01", to: "2026-05-02" }, ["2026-05-01", "2026-05-02"]),
    {
      from: "2026-04-29",
      to: "2026-04-30",
    },
  );
  assert.deepEqual(previousDays({ from: "-1m" }, ["2026-03-31"]), {
    from: "2026-02-28",
    to: "2026-02-28",
  });
  assert.equal(previousDays({ from: "-7d" }, []), null);
});

test("a period has a readable name", () => {
  const names = [
    {},
    { from: "-7d" },
    { from: "-14d" },
    { from: "-1mStart", to: "-1mEnd" },
    { from: "2026-05-01", to: "2026-05-14" },
    { from: "2026-05-01" },
    { to: "2026-05-14" },
  ].map((range) => nameOfRange(range).replace(/\s/g, " "));

  assert.deepEqual(names, [
    "All time",
    "Last 7 days",
    "Last 14 days",
    "Last month",
    "May 1 – 14, 2026",
    "Since May 1, 2026",
    "Until May 14, 2026",
  ]);
});

test("links of earlier versions to what arrived keep their period", () => {
  assert.deepEqual(readIngestionSearch({ span: "7d" }), { from: "-7d" });
});
