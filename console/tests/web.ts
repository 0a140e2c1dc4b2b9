import assert from "node:assert/strict";
import { test } from "node:test";
import { patternOf } from "@/web/cleaning";
import {
  contraryOf,
  isTooLong,
  propertiesOf,
  readConditions,
  searchOf,
  VALUE_CHARS_MAX,
  withCondition,
  withoutCondition,
} from "@/web/conditions";
import { changeOf, readFigures } from "@/web/figures";
import { apiGoalOf } from "@/web/goals";
import { countriesNamed, wholeName } from "@/web/names";
import { intervalOf, trendOf } from "@/web/overTime";
import { goalsOf, rowsOf, tableOf } from "@/web/queries";
import { readWebSearch } from "@/web/search";
import { conditionOf } from "@/web/view";

const NOW = new Date("2026-05-14T12:30:00Z");

test("a URL holds the filter rows; conditions no row could produce are left out", () => {
  const where = [
    { by: "Country", value: "DE" },
    { by: "Browser", value: "Safari", not: true },
    { by: "City", value: ["DE", null] },
    { by: "Page", value: null },
    { by: "Page", value: "/users/:id", cleaned: true },
  ];
  assert.deepEqual(readConditions(where), where);
  for (const wrong of [
    null,
    "Country",
    { by: "Planet", value: "Mars" },
    { by: "Country" },
    { by: "Country", value: ["DE"] },
    { by: "City", value: "Munich" },
    { by: "City", value: ["DE", { x: 1 }] },
  ])
    assert.deepEqual(readConditions([wrong]), []);
  assert.deepEqual(readConditions([{ by: "OS", value: "Mac", not: "yes", cleaned: true }]), [
    { by: "OS", value: "Mac" },
  ]);
});

test("conditions are added once per value, inverted and removed", () => {
  const [germany, safari] = [
    { by: "Country", value: "DE" },
    { by: "Browser", value: "Safari" },
  ] as const;
  const both = withCondition([germany], safari);

  assert.deepEqual(both, [germany, safari]);
  assert.deepEqual(withCondition(both, contraryOf(germany)), [safari, { ...germany, not: true }]);
  assert.deepEqual(contraryOf(contraryOf(germany)), germany);
  assert.deepEqual(withoutCondition(both, safari), [germany]);
});

test("conditions apply to event or session properties; a row without a value matches none", () => {
  const of = (one: Parameters<typeof propertiesOf>[0][number]) =>
    propertiesOf([one], [])?.values[0];

  assert.deepEqual(of({ by: "InitialUTMSource", value: "a" }), {
    type: "AND",
    values: [{ key: "$entry_utm_source", type: "session", operator: "exact", value: ["a"] }],
  });
  assert.deepEqual(of({ by: "Viewport", value: [1440, 900], not: true }), {
    type: "OR",
    values: [
      { key: "$viewport_width", type: "event", operator: "is_not", value: ["1440"] },
      { key: "$viewport_height", type: "event", operator: "is_not", value: ["900"] },
    ],
  });
  assert.deepEqual(of({ by: "OS", value: null }), {
    type: "AND",
    values: [{ key: "$os", type: "event", operator: "not_regex", value: "(?s)." }],
  });
  assert.deepEqual(of({ by: "Timezone", value: 5.5 }), {
    type: "AND",
    values: [{ key: "$timezone_offset", type: "event", operator: "exact", value: ["-330"] }],
  });
  assert.equal(propertiesOf([], []), undefined);
});

test("a value too long for a URL cannot be a filter", () => {
  const view = { rules: [] };
  assert.equal(isTooLong("x".repeat(VALUE_CHARS_MAX)), true);
  assert.equal(conditionOf(view, "Page", `/${"x".repeat(VALUE_CHARS_MAX)}`), "tooLong");
  assert.deepEqual(conditionOf(view, "Page", "/a"), { by: "Page", value: "/a" });
});

const PATHS = ["/users/1", "/users/12/orders/3", "/users/me", "/a.b", "/axb", "/users/:id", "/"];

test("the pattern of a cleaned path matches the paths that the rules turn into it", () => {
  const sets = [
    [{ regex: "/\\d+", alias: "/:id" }],
    [
      { regex: "/users/\\d+", alias: "/users/:id" },
      { regex: "/orders/[0-9]+", alias: "/orders/:order" },
    ],
    [{ regex: "/$", alias: "" }],
    [{ regex: "^/users", alias: "" }],
  ];
  for (const rules of sets) {
    const clean = (path: string) =>
      rules.reduce((text, { regex, alias }) => text.replace(new RegExp(regex, "g"), alias), path);
    for (const wanted of PATHS.map(clean)) {
      const pattern = patternOf(wanted, rules);
      assert.notEqual(pattern, null);
      for (const path of PATHS)
        assert.equal(
          new RegExp(pattern ?? "").test(path),
          clean(path) === wanted,
          `${pattern} ${path} → ${clean(path)}`,
        );
    }
  }
});

test("paths cannot be filters if their rules cannot be undone", () => {
  for (const rules of [
    [{ regex: "/(\\w)/", alias: "/\\1/" }],
    [{ regex: "-", alias: "" }],
    [
      { regex: "\\d+", alias: ":n" },
      { regex: "/x/:n", alias: "/y" },
    ],
  ]) {
    assert.equal(patternOf("/y", rules), null);
    assert.equal(conditionOf({ rules }, "Page", "/y"), "cleaned");
  }
  const rules = [{ regex: "\\d+", alias: ":n" }];
  assert.deepEqual(conditionOf({ rules }, "Browser", "7"), { by: "Browser", value: "7" });
  assert.deepEqual(conditionOf({ rules }, "ExitPage", "/:n"), {
    by: "ExitPage",
    value: "/:n",
    cleaned: true,
  });
});

test("a period has a readable number of intervals", () => {
  const of = (from?: string, to?: string) =>
    intervalOf({ ...(from && { from }), ...(to && { to }) }, "UTC", NOW);

  assert.equal(of("dStart"), "hour");
  assert.equal(of("-1dStart", "-1dEnd"), "hour");
  assert.equal(of("-7d"), "day");
  assert.equal(of("-90d"), "day");
  assert.equal(of("-12m"), "week");
  assert.equal(of("-3y"), "month");
  assert.equal(of(undefined, "2026-05-01"), "month");
});

test("figures are read from the answer, whatever else it contains", () => {
  const item = { key: "visitors", kind: "unit", value: 3, previous: 2, changeFromPreviousPct: 50 };

  const figures = readFigures([item, { key: "new one" }, { key: "bounce rate", value: null }]);

  assert.deepEqual(
    figures.map(({ name, value, change }) => [name, value, change]),
    [
      ["visitors", 3, 50],
      ["bounce rate", null, null],
    ],
  );
  assert.deepEqual([changeOf(3, 2), changeOf(3, 0), changeOf(null, 2)], [50, null, null]);
});

test("rows have their numbers by column name", () => {
  const columns = ["breakdown_value", "visitors", "views"];

  assert.deepEqual(rowsOf({ columns, results: [["/", [1, null], [2, 3]]] }), [
    { value: "/", numbers: { visitors: [1, null], views: [2, 3] } },
  ]);
  assert.deepEqual(rowsOf({ columns, results: null }), []);
});

test("rows have display names", () => {
  assert.equal(wholeName("Country", "DE"), "Germany");
  assert.equal(wholeName("Country", "<b>"), "<b>");
  assert.equal(wholeName("City", ["DE", "Munich"]), "Munich, Germany");
  assert.equal(wholeName("Region", ["DE", "BY", null]), "BY, Germany");
  assert.equal(wholeName("Viewport", [1440, 900]), "1440 × 900");
  assert.equal(wholeName("Timezone", -3.5), "UTC−3:30");
  assert.equal(wholeName("InitialReferringDomain", "$direct"), "Direct");
  assert.equal(wholeName("OS", null), "No operating system");
  assert.equal(wholeName("Language", "not a language at all"), "not a language at all");
  assert.deepEqual(countriesNamed("germ"), ["DE"]);
});

test("a country search matches codes, any other search a substring", () => {
  assert.deepEqual(searchOf("Country", "germ", ["DE"])?.values[0], {
    key: "$geoip_country_code",
    type: "event",
    operator: "exact",
    value: ["DE"],
  });
  assert.deepEqual(searchOf("City", "mun", null)?.values[0], {
    key: "$geoip_city_name",
    type: "event",
    operator: "icontains",
    value: "mun",
  });
  assert.equal(searchOf("Viewport", "14", null), undefined);
});

test("queries carry the period, the conditions and the test account filter", () => {
  const common = {
    range: { from: "-7d" },
    isCompared: false,
    properties: undefined,
    hidesTests: true,
    goal: undefined,
  };
  const table = { breakdown: "Page" as const, cleansPaths: true, limit: 10, order: "-views" };

  assert.deepEqual(tableOf(common, table), {
    kind: "WebStatsTableQuery",
    breakdownBy: "Page",
    dateRange: { date_from: "-7d" },
    properties: [],
    filterTestAccounts: true,
    limit: 10,
    doPathCleaning: true,
    orderBy: ["Views", "DESC"],
  });
  const asked = { ...common, interval: "day" as const };
  const paid = apiGoalOf("paid");
  const trend = trendOf("unique conversions", { ...asked, goal: paid });
  assert.deepEqual(trend.events, [{ id: "paid", math: "dau" }]);
  const action = apiGoalOf(" 7 Paid pro");
  const ofAction = trendOf("total conversions", { ...asked, goal: action });
  assert.deepEqual(ofAction.events, [{ id: 7, type: "actions", math: "total" }]);
  assert.deepEqual(goalsOf(common, [paid, action]).goals, [
    { customEventName: "paid" },
    { actionId: 7 },
  ]);
  assert.equal(trend.filter_test_accounts, true);
});

test("the screen's URL is parsed, and invalid parts are left out", () => {
  assert.deepEqual(
    readWebSearch({
      from: "-7d",
      figure: "views",
      pages: "ExitPage",
      places: "Page",
      goals: ["paid", "paid", 7, {}],
      goal: "paid",
      tests: "yes",
      behind: { at: "2026-05-14 13:00:00", event: "$pageview" },
      all: "Nothing",
    }),
    {
      from: "-7d",
      figure: "views",
      pages: "ExitPage",
      goals: ["paid", "7"],
      goal: "paid",
      behind: { at: "2026-05-14 13:00:00", event: "$pageview" },
    },
  );
});
