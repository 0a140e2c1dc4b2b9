import assert from "node:assert/strict";
import { test } from "node:test";
import { type Column, compareKeys, type Plain, sortKey, sortRows } from "@/ui/table/columns";
import { csvCell, csvLine, csvParts } from "@/ui/table/csv";

test("texts that a spreadsheet would compute begin with a quote", () => {
  const formulas = ["=1+1", "+1", "-1", "@x", "\tx", "\rx"];

  const cells = formulas.map(csvCell);

  assert.deepEqual(cells, ["'=1+1", "'+1", "'-1", "'@x", "'\tx", '"\'\rx"']);
});

test("numbers stay numbers, and what is missing is empty", () => {
  const line = csvLine([-1.5, true, null, undefined, new Date(0), 'a "b", c']);

  assert.equal(line, '-1.5,true,,,1970-01-01T00:00:00.000Z,"a ""b"", c"\r\n');
});

test("a file has the columns in their order, and every row of an async source", async () => {
  const column = (id: string, text: (row: number) => Plain): Column<number> => ({
    id,
    header: id,
    cell: () => null,
    text,
  });
  async function* rows() {
    for (let row = 0; row < 1200; row += 1) yield row;
  }

  const parts: { text: string; rows: number }[] = [];
  for await (const part of csvParts(
    [column("b", (row) => `r${row}`), column("a", (row) => row)],
    rows(),
  )) {
    parts.push(part);
  }

  const lines = parts
    .map((part) => part.text)
    .join("")
    .split("\r\n");
  assert.deepEqual(
    [lines[0], lines[1], lines[1200], lines[1201]],
    ["\uFEFFb,a", "r0,0", "r1199,1199", ""],
  );
  assert.equal(parts.at(-1)?.rows, 1200);
});

test("rows are sorted by numbers within texts, without case and accents", () => {
  const texts = ["item 10", "Émile", "item 9", "zoë", "Eva", "emil"];

  const sorted = texts.toSorted((a, b) => compareKeys(sortKey(a) ?? "", sortKey(b) ?? ""));

  assert.deepEqual(sorted, ["emil", "Émile", "Eva", "item 9", "item 10", "zoë"]);
});

test("numbers stand before texts, and dates are compared as instants", () => {
  assert.ok(compareKeys(10, "2") < 0);
  assert.equal(sortKey(new Date(5)), 5);
  assert.equal(sortKey(true), 1);
  assert.equal(sortKey(""), undefined);
});

test("rows without a value stand last in both directions, and equal rows keep their order", () => {
  const rows = [
    { id: "a", age: 2 },
    { id: "b", age: null },
    { id: "c", age: 1 },
    { id: "d", age: 2 },
  ];
  const age = (sortable: boolean): Column<(typeof rows)[number]>[] => [
    { id: "age", header: "Age", cell: () => null, text: (row) => row.age, sortable },
  ];
  const sorted = (descending: boolean, sortable = true) =>
    sortRows(rows, age(sortable), { column: "age", descending }).map((row) => row.id);

  assert.deepEqual(sorted(false), ["c", "a", "d", "b"]);
  assert.deepEqual(sorted(true), ["a", "d", "c", "b"]);
  assert.equal(sortRows(rows, age(true), null), rows);
  assert.deepEqual(sorted(true, false), ["a", "b", "c", "d"]);
});
