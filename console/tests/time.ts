import assert from "node:assert/strict";
import { test } from "node:test";
import { isDate, readRelative, writeRelative } from "@/filters/dates";
import { timesOf } from "@/ui/times";
import { fromLocal, offsetName, toLocal } from "@/ui/zonedTime";

const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"];

for (const zone of ZONES) {
  test(`a local time of ${zone} is the same after a change to an instant and back`, () => {
    for (const local of ["2030-01-15T09:00", "2030-07-01T23:59", "2028-02-29T00:00"]) {
      const instant = fromLocal(local, zone);

      assert.ok(instant);
      assert.equal(toLocal(instant, zone), local);
    }
  });
}

test("offsets follow the season", () => {
  assert.equal(offsetName(new Date("2030-01-15T00:00Z"), "Europe/Berlin"), "UTC+1");
  assert.equal(offsetName(new Date("2030-07-15T00:00Z"), "Europe/Berlin"), "UTC+2");
  assert.equal(offsetName(new Date("2030-07-15T00:00Z"), "Asia/Kolkata"), "UTC+5:30");
  assert.equal(offsetName(new Date("2030-01-15T00:00Z"), "America/New_York"), "UTC−5");
});

test("a time right before the clocks change keeps its own offset", () => {
  assert.equal(
    fromLocal("2030-03-31T01:30", "Europe/Berlin")?.toISOString(),
    "2030-03-31T00:30:00.000Z",
  );
});

test("what is no time is none", () => {
  assert.equal(fromLocal("", "UTC"), null);
  assert.equal(fromLocal("2030-13-01T00:00", "UTC"), null);
});

test("relative dates are read and written", () => {
  assert.deepEqual(readRelative("-7d"), { count: 7, unit: "d" });
  assert.equal(readRelative("-7x"), null);
  assert.equal(writeRelative({ count: 3, unit: "m" }), "-3m");
  assert.ok(isDate("2030-01-15T09:00:00Z"));
  assert.ok(!isDate("2030-99-15"));
});

test("times have the project's clocks, with the date whenever it is not today, and name them", () => {
  const now = Date.parse("2030-01-15T23:30:00Z"); // half past midnight of the 16th in Berlin
  const { at } = timesOf("Europe/Berlin", now, "Asia/Tokyo");
  const near = timesOf("Europe/Berlin", now, "Europe/Paris").at;

  assert.match(at("2030-01-15T23:10:09Z", { seconds: true }), /^0?0:10:09|^12:10:09/);
  assert.match(at("2030-01-15T23:10:09Z"), /\(Europe\/Berlin\)$/);
  assert.doesNotMatch(near("2030-01-15T23:10:09Z"), /Berlin/);
  assert.match(near("2030-01-15T22:10:09Z"), /15.*2030/);
  const besides = "2030-01-13T10:00:00Z";
  assert.doesNotMatch(at("2030-01-13T12:00:00Z", { besides, named: false }), /2030|Berlin/);
});
