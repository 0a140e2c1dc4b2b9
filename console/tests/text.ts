import assert from "node:assert/strict";
import { test } from "node:test";
import { type ActivityEntry, actionsOf, actorOf, describeChange } from "@/activity/describe";
import { plainName } from "@/ui/properties/names";
import { cut, textParts, webAddress } from "@/ui/properties/safeText";

test("signs that are not seen are named", () => {
  const parts = textParts("a\u202Eb\u0000\u200B");

  assert.deepEqual(
    parts.map((part) => part.code ?? part.text),
    ["a", "U+202E", "b", "U+0000", "U+200B"],
  );
});

test("lines, tabs, scripts and joined emoji stay as they are", () => {
  for (const text of ["a\n\tb", "مرحبا", "👨‍👩‍👧", "👍🏽", "naïve"]) {
    assert.deepEqual(textParts(text), [{ text, code: null }]);
  }
});

test("a lone half of a pair is named, and a cut leaves none", () => {
  assert.equal(textParts("\uD83D")[0]?.code, "U+D83D");
  assert.equal(cut("ab😀", 3), "ab");
  assert.equal(cut("ab😀", 4), "ab😀");
});

test("only addresses of the web are links", () => {
  assert.equal(webAddress("https://example.com/a?b"), "https://example.com/a?b");
  for (const text of [
    "javascript:alert(1)",
    "data:text/html,x",
    "//x",
    "see https://x.y",
    "http://",
  ]) {
    assert.equal(webAddress(text), null, text);
  }
});

test("known properties have plain names", () => {
  assert.equal(plainName("$browser"), "Browser");
  assert.equal(plainName("$feature/new"), "Flag new");
  assert.equal(plainName("$initial_utm_source"), "First UTM source");
  assert.equal(plainName("$initial_device_type"), "First device type");
  assert.equal(plainName("constructor"), "constructor");
  assert.equal(plainName("$initial_toString"), "$initial_toString");
});

test("changes are told in words", () => {
  const change = (field: string, before: unknown, after: unknown) =>
    describeChange({ type: "FeatureFlag", action: "changed", field, before, after });

  assert.equal(change("active", false, true), "switched it on");
  assert.equal(change("deleted", true, false), "restored it");
  assert.equal(change("name", "a", "b"), "changed the name from “a” to “b”");
  assert.equal(change("tags", null, ["x", "y"]), "set the tags to “x”, “y”");
  assert.equal(change("level", 1, 8), "changed the level from member to administrator");
  assert.equal(change("name", "a", null), "removed the name “a”");
  assert.equal(
    change("filters", { a: 1, b: 2 }, { a: 2, b: 3 }),
    "changed the conditions in 2 places",
  );
});

test("a sign-in is told with its circumstances, an unknown activity by its name", () => {
  const entry = (activity: string): ActivityEntry => ({
    user: { first_name: "Ann", email: "ann@example.com" },
    activity,
    scope: "User",
    item_id: "1",
    created_at: "2030-01-01T00:00:00Z",
    detail: {
      name: "ann@example.com",
      short_id: null,
      trigger: null,
      changes: [
        { type: "User", action: "created", field: "method", before: null, after: "password" },
        { type: "User", action: "created", field: "address", before: null, after: "203.0.113.4" },
      ],
    },
  });

  assert.deepEqual(actionsOf(entry("logged_in")), ["signed in (password, 203.0.113.4)"]);
  assert.deepEqual(actionsOf(entry("gone_fishing")), ["gone fishing · account"]);
  assert.equal(actorOf(entry("logged_in")), "Ann");
});
