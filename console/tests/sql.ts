import assert from "node:assert/strict";
import { test } from "node:test";
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

  const read = valuesOf(queryOf("select {variables.size}, {variables.least}", values));

  assert.deepEqual(read, {
    size: { text: "42", isNumber: false },
    least: { text: "7", isNumber: true },
  });
});
