import assert from "node:assert/strict";
import { test } from "node:test";
import { type ActivityEntry, actionsOf, actorOf, hasDifference } from "@/activity/describe";
import { describeChange } from "@/activity/describeChange";
import { cleanedPath } from "@/settings/project/pathCleaning";
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

test("activity describes special changes in everyday words", () => {
  const sentences: [string, unknown, unknown, string][] = [
    ["is_accepted", false, true, "accepted the invite"],
    ["performed_rollback", true, false, "cleared the rollback mark"],
    ["dashboards", [], [4], "added it to a dashboard"],
    ["tiles", [{ id: 1 }], [], "removed an insight from it"],
    ["members", ["a@x.y"], ["a@x.y", "b@x.y"], "added b@x.y"],
    ["members", ["a@x.y"], ["b@x.y"], "added b@x.y; removed a@x.y"],
    ["role_access", null, { id: "1", name: "Engineers" }, "let the role “Engineers” edit it"],
    [
      "scheduled_change",
      null,
      { id: 1, payload: { operation: "update_status", value: false } },
      "scheduled a change: switch it off",
    ],
    [
      "scheduled_change",
      { id: 1, payload: { operation: "update_rollout_percentage", value: 50 } },
      null,
      "cancelled a scheduled change: change its rollout",
    ],
    ["secret_key", null, "phs_...abcd", "created a secret key"],
    ["secret_key", "phs_...abcd", null, "revoked the secret key"],
    ["access_level", 37, 21, "let members only view flags"],
    ["enforce_2fa", false, true, "required a second factor of all members"],
    ["activity_kept_days", null, 90, "set activity to be kept for 90 days"],
    ["activity_kept_days", 90, null, "set activity to be kept forever"],
    ["week_start_day", 0, 1, "set weeks to start on Monday"],
  ];

  for (const [field, before, after, said] of sentences) {
    assert.equal(describeChange({ type: "X", action: "changed", field, before, after }), said);
  }
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
  assert.equal(hasDifference(entry("logged_in")), false);
});

const projectEntry = (activity: string, fields: Record<string, unknown>): ActivityEntry => ({
  user: { first_name: "Ann", email: "ann@example.com" },
  activity,
  scope: "Project",
  item_id: "3",
  detail: {
    name: "Shop",
    changes: Object.entries(fields).map(([field, after]) => ({
      type: "Project",
      action: "created",
      field,
      before: null,
      after,
    })),
    short_id: null,
    trigger: null,
    type: null,
  },
  created_at: "2026-05-01T10:00:00Z",
});

test("a difference is offered only where a sentence leaves something out", () => {
  assert.equal(hasDifference(projectEntry("updated", { name: "Shop", api_token: "phc_b" })), false);
  assert.equal(hasDifference(projectEntry("updated", { ingestion: { a: 1 } })), true);
});

test("activity says who joined, invited someone or left", () => {
  const entry = (scope: string, activity: string, name: string): ActivityEntry => ({
    ...projectEntry(activity, {}),
    scope,
    detail: { ...projectEntry(activity, {}).detail, name },
  });

  assert.deepEqual(actionsOf(entry("OrganizationMembership", "created", "ann@example.com")), [
    "joined the organization",
  ]);
  assert.deepEqual(actionsOf(entry("OrganizationMembership", "deleted", "bob@example.com")), [
    "removed the member",
  ]);
  assert.deepEqual(actionsOf(entry("OrganizationInvite", "created", "bob@example.com")), [
    "sent an invite",
  ]);
});

test("the activity of a deleted project lists what was deleted", () => {
  assert.deepEqual(actionsOf(projectEntry("deleted", { events: 61_800, persons: 1 })), [
    "deleted the project, with 61,800 events, 1 person",
  ]);
});

test("a flag that was never on is not said to be switched off", () => {
  const entry = projectEntry("updated", { performed_rollback: false, name: "Shop" });

  assert.deepEqual(actionsOf(entry), ["set the name to “Shop”"]);
});

test("paths are cleaned by one rule after the other, as on the server", () => {
  const rules = [
    { regex: "/users/[0-9]+", alias: "/users/<id>" },
    { regex: "(?i)/ORDERS/([0-9])[0-9]*", alias: "/orders/\\1…" },
    { regex: "(?P<x>a)", alias: "b" },
  ];

  assert.deepEqual(cleanedPath("/users/42/orders/789", rules), {
    text: "/users/<id>/orders/7…",
    skipped: [2],
  });
});
