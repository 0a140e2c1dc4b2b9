import assert from "node:assert/strict";
import { test } from "node:test";
import { colorsByValue } from "@/charts/palette";
import { labelled, ticks } from "@/charts/scale";
import { markOf } from "@/charts/series";
import { axisName, captionOf, type Interval, intervalName } from "@/charts/time";

const LENGTH_MS: Record<"hour" | "day", number> = { hour: 3_600_000, day: 86_400_000 };

function timesFrom(start: string, interval: "hour" | "day", count: number): Date[] {
  const first = Date.parse(start);
  return Array.from({ length: count }, (_, index) => new Date(first + index * LENGTH_MS[interval]));
}

test("a caption names what, how often and when, and that the last interval is not over", () => {
  const times = timesFrom("2026-05-01T00:00Z", "day", 14);

  const caption = captionOf("Signups", times, "day", { zone: "UTC", isPartial: true });

  // Between the days are thin spaces that differ between versions of the language data.
  assert.equal(
    caption.replace(/\s/g, " "),
    "Signups per day, May 1 – 14, 2026; last day incomplete",
  );
  assert.equal(captionOf("Signups", [], "day"), "Signups");
});

test("midnight is named by its day below an axis of hours", () => {
  assert.equal(axisName(new Date("2026-05-01T00:00Z"), "hour", "UTC"), "May 1");
  assert.equal(axisName(new Date("2026-05-01T06:00Z"), "hour", "UTC"), "06:00");
  assert.equal(axisName(new Date("2026-05-01T00:00Z"), "hour", "Asia/Kolkata"), "05:30");
});

test("each zone and each length of an interval has its own names", () => {
  const night = new Date("2026-05-01T22:30Z");
  const names = (["UTC", "Asia/Kolkata"] as const).flatMap((zone) =>
    (["day", "month", "quarter", "year"] as const).map((interval) =>
      intervalName(night, interval, zone),
    ),
  );

  assert.deepEqual(names, [
    ...["Fri, May 1", "May 2026", "Q2 2026", "2026"],
    ...["Sat, May 2", "May 2026", "Q2 2026", "2026"],
  ]);
  const [june, july] = [new Date("2026-06-30T22:30Z"), new Date("2026-07-01T12:00Z")];
  assert.equal(axisName(june, "quarter", "Asia/Kolkata"), "Q3 2026");
  assert.equal(
    captionOf("Signups", [june, july], "quarter", { zone: "UTC" }),
    "Signups per quarter, Q2 2026 – Q3 2026",
  );
});

test("labels of hours fall on round hours of the zone", () => {
  const times = timesFrom("2026-05-01T05:00Z", "hour", 48);

  const hours = labelled(times, "hour", "UTC", 640).map((index) => times[index]?.getUTCHours());

  assert.deepEqual(hours, [6, 12, 18, 0, 6, 12, 18, 0]);
});

test("there are never more labels than there is room for", () => {
  for (const interval of [
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
  ] satisfies Interval[]) {
    const times = timesFrom("2026-05-01T00:00Z", "day", 5000);
    assert.ok(labelled(times, interval, "UTC", 320).length <= 6, interval);
  }
});

test("ticks are round and reach the highest value", () => {
  assert.deepEqual(ticks(3), [0, 1, 2, 3]);
  assert.deepEqual(ticks(773), [0, 200, 400, 600, 800]);
  assert.deepEqual(ticks(0), [0, 1]);
  assert.deepEqual(ticks(9), [0, 5, 10]);
  for (let most = 1; most < 2000; most += 1) {
    assert.ok(ticks(most).every(Number.isInteger), String(most));
  }
});

test("ten lines differ by their dashes as by their colours", () => {
  const series = { name: "a", values: [] };

  assert.notDeepEqual(markOf(series, 1).dash, markOf(series, 2).dash);
  assert.deepEqual(markOf(series, 0), { token: "--series-1", dash: [] });
  assert.equal(markOf(series, 10).token, "--series-1");
  assert.equal(
    new Set(Array.from({ length: 10 }, (_, n) => String(markOf(series, n).dash))).size,
    10,
  );
  assert.equal(markOf({ ...series, color: 7 }, 0).token, "--series-7");
});

test("a value has the same colour whatever its rank, and no two of a chart share one", () => {
  const values = ["control", "variant-a", "variant-b", "blue", "green", "red"];
  const colors = colorsByValue(values);

  assert.deepEqual(colorsByValue(values.toReversed()), colors);
  assert.equal(new Set(colors.values()).size, values.length);
  assert.equal(new Set(colorsByValue(Array.from("abcdefghijkl")).values()).size, 10);
});

test("a variant has the same colour in a chart that shows only some of the variants", () => {
  const variants = ["blue", "green", "red"];
  const colors = colorsByValue(variants);

  const shown = colorsByValue(["red", "gone", "false"], variants);

  assert.equal(shown.get("red"), colors.get("red"));
  assert.equal(new Set(shown.values()).size, 5);
});

test("on is green and off grey in every chart", () => {
  assert.deepEqual(Object.fromEntries(colorsByValue(["false", "true"])), { true: 3, false: 8 });
});
