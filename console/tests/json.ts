import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonDifferences, pathText } from "@/ui/jsonDiff";
import { jsonError } from "@/ui/jsonError";

const VALID = [
  "1",
  "-0.5e+3",
  '"a\\u00e9\\n"',
  "[]",
  "{}",
  ' {"a": [1, {"b": null}], "c": true} \n',
];

const INVALID: readonly (readonly [string, number, number])[] = [
  ['{\n  "a": 1,\n  "b": [1, 2,]\n}', 3, 14],
  ['{"a": 1,}', 1, 9],
  ['{"a" 1}', 1, 6],
  ["{a: 1}", 1, 2],
  ['{"a": tru}', 1, 7],
  ['{"a": "x', 1, 9],
  ["[1 2]", 1, 4],
  ["1 2", 1, 3],
  ["01", 1, 2],
  ['"a\nb"', 1, 3],
  ['"\\x"', 1, 2],
  ["", 1, 1],
];

test("what JSON.parse takes is no error", () => {
  for (const text of VALID) {
    JSON.parse(text);
    assert.equal(jsonError(text), null, text);
  }
});

for (const [text, line, column] of INVALID) {
  test(`${JSON.stringify(text)} is wrong in line ${line}, column ${column}`, () => {
    assert.throws(() => JSON.parse(text));

    const error = jsonError(text);

    assert.deepEqual([error?.line, error?.column], [line, column]);
  });
}

test("a value that is nested too deeply is an error and no crash", () => {
  assert.notEqual(jsonError("[".repeat(100_000)), null);
});

test("differences are the innermost places", () => {
  const before = { a: [1, { b: 2 }], c: "x", d: null };
  const after = { a: [1, { b: 3 }, 4], d: null, e: false };

  const differences = jsonDifferences(before, after);

  assert.deepEqual(
    differences.map((one) => [pathText(one.path), one.before, one.after]),
    [
      ["a[1].b", 2, 3],
      ["a[2]", undefined, 4],
      ["c", "x", undefined],
      ["e", undefined, false],
    ],
  );
});

test("a list in place of an object is one difference", () => {
  assert.deepEqual(jsonDifferences({ a: {} }, { a: [] }), [{ path: ["a"], before: {}, after: [] }]);
});

test("names that are no words are quoted in a path", () => {
  assert.equal(pathText(["a b", 0, "$c-d"]), '"a b"[0].$c-d');
});
