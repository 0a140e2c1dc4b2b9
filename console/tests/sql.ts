import assert from "node:assert/strict";
import { test } from "node:test";
import { drawRows } from "@/insights/kinds/sql/drawn";
import { readSqlQuery, sqlQuery, storedSql } from "@/insights/kinds/sql/query";
import { readShown } from "@/insights/kinds/sql/shown";
import { completionsAt } from "@/insights/sql/completions";
import { type Ran, withRan } from "@/insights/sql/history";
import { placeError } from "@/insights/sql/place";
import { queryOf, typedOf, valuesOf, variablesIn } from "@/insights/sql/variables";

const partOf = (detail: string, text: string) => {
  const { part } = placeError(detail, text);
  return part === null ? null : text.slice(part.from, part.to);
};

test("an error of a query is placed at the word that its line and column begin", () => {
  const text = "select 1,\n  person.emali\nfrom events";

  assert.equal(partOf("Unknown column. Line 2, column 3.", text), "person");
  assert.equal(partOf("Unknown sign. Line 1, column 9.", text), ",");
  assert.equal(partOf("It ends. Line 3, column 12.", text), "");
});

test("columns are counted in characters, of which some are two units of a text", () => {
  assert.equal(partOf("No. Line 1, column 13.", "select '😀😀', wrong"), "wrong");
});

test("an error without a place, or of another text, is about the whole query", () => {
  assert.equal(partOf("The query takes longer than 30 seconds.", "select 1"), null);
  assert.equal(partOf("Unknown. Line 9, column 1.", "select 1"), null);
});

test("variables of a query are found once each, and sent with their values", () => {
  const text = "select {variables.plan}, { variables.least }, {event}, {variables.plan}";

  assert.deepEqual(variablesIn(text), ["plan", "least"]);
  assert.deepEqual(queryOf(text, { least: { text: "5", isNumber: true } }).variables, {
    plan: { code_name: "plan", value: "" },
    least: { code_name: "least", value: 5 },
  });
  assert.equal(queryOf("select 1", { plan: typedOf("pro") }).variables, undefined);
});

test("a text that looks like a number stays a text", () => {
  const values = { size: typedOf("42"), least: typedOf(7) };

  const { variables } = queryOf("select {variables.size}, {variables.least}", values);
  const read = valuesOf(variables);

  assert.deepEqual(read, {
    size: { text: "42", isNumber: false },
    least: { text: "7", isNumber: true },
  });
});

test("rows are drawn by the first column, with all others that have numbers", () => {
  const rows = {
    columns: ["day", "plan", "events", "sum"],
    types: [
      ["day", "Date"],
      ["plan", "String"],
      ["events", "UInt64"],
      ["sum", "Nullable(Float64)"],
    ],
    results: [
      ["2026-05-01T00:00:00Z", "pro", 3, null],
      ["2026-05-02T00:00:00Z", null, "18446744073709551615", 0.5],
    ],
    hasMore: false,
    limit: 100,
  };

  const drawn = drawRows(rows, { display: "line" });
  const chosen = drawRows(rows, { display: "bar", x: "plan", y: ["sum"] });

  assert.deepEqual(drawn?.data, {
    columns: ["day", "events", "sum"],
    rows: [
      ["2026-05-01T00:00:00Z", 3, null],
      ["2026-05-02T00:00:00Z", 18446744073709552000, 0.5],
    ],
  });
  assert.deepEqual(drawn?.categories[0]?.short, "2026-05-01");
  assert.deepEqual(chosen?.data.rows, [
    ["pro", null],
    ["null", 0.5],
  ]);
  assert.equal(drawRows({ ...rows, results: [] }, { display: "line" }), null);
});

test("how a query is shown is written as other clients of the API have it", () => {
  const shown = { display: "bar", x: "plan", y: ["sum"] } as const;

  const node = storedSql({ kind: "HogQLQuery", query: "select 1" }, shown);

  assert.deepEqual(node.chartSettings, {
    xAxis: { column: "plan" },
    yAxis: [{ column: "sum" }],
  });
  assert.deepEqual(readShown(node), shown);
  assert.deepEqual(readShown({ display: "WorldMap", chartSettings: null }), { display: "table" });
});

test("the period and conditions of a dashboard are added to those of a saved query", () => {
  const pro = { key: "plan", type: "event", operator: "exact", value: "pro" } as const;
  const query = { kind: "HogQLQuery", query: "select 1", filters: { properties: [pro] } };
  const question = readSqlQuery(query);

  const asked = sqlQuery({ ...question, dates: { from: "-7d" }, filters: [pro] });

  assert.deepEqual(sqlQuery(question), query);
  assert.deepEqual(asked.filters, {
    dateRange: { date_from: "-7d" },
    properties: [pro, pro],
  });
});

test("the history has each query once, the last first, and forgets the oldest", () => {
  const ran = (text: string, at: number) => ({ text, at });
  const many = Array.from({ length: 40 }, (_, place) => ran(`select ${place}`, place));

  const kept = many.reduce<readonly Ran[]>((history, one) => withRan(history, one), []);

  assert.deepEqual([kept.length, kept[0]?.text], [30, "select 39"]);
  assert.deepEqual(
    withRan(kept, ran("select 20", 99))
      .map(({ text }) => text)
      .slice(0, 2),
    ["select 20", "select 39"],
  );
  assert.equal(withRan(kept, ran("x".repeat(9_000), 100)), kept);
});

test("names are completed by what stands before them", () => {
  const column = (name: string) => ({ name, type: "string" }) as const;
  const names = {
    tables: {
      events: [column("event"), column("person.id"), column("person.properties")],
      cohorts: [column("name")],
    },
    functions: ["count"],
    events: ["plan", "$browser", "it's here"],
    persons: ["email"],
  };
  const labels = (before: string, isAsked = false) =>
    completionsAt(before, names, ["SELECT"], isAsked)?.options.map((one) => one.apply ?? one.label);

  assert.deepEqual(labels("select properties.$b"), [".plan", ".$browser", "['it\\'s here']"]);
  assert.deepEqual(labels("select person.properties."), [".email"]);
  assert.deepEqual(labels("select person."), ["id", "properties"]);
  assert.deepEqual(labels("select cohorts.n"), ["name"]);
  assert.deepEqual(labels("select unknown.n"), undefined);
  assert.deepEqual(labels("limit 10"), undefined);
  assert.deepEqual(labels("select "), undefined);
  assert.deepEqual(labels("select ", true)?.slice(-3), ["cohorts", "SELECT", "count("]);
  assert.equal(completionsAt("select properties.pl", names, [], false)?.from, 17);
});
