"""Trends in the console: the question, and its numbers, which are the same in every view."""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.console.insight_page import chart, insight, numbers, rows_of, sentence
from tests.console.project import Project, has
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def test_a_trend_is_asked_by_keys_and_all_that_shows_its_numbers_agrees(
    console: Console, project: Project
) -> None:
    project.persons(ann={}, bob={}, cem={})
    times = Counter(ann=3, bob=2)
    project.events("paid", *times.elements())
    project.events("viewed", "cem")
    page = console.page
    console.open(project.at())

    with console.keyboard_only():
        console.press("g", "i")
        console.settle()
        console.tab_to(page.get_by_role("link", name="Trends"))
        console.press("Enter")
        console.settle()
        console.tab_to(page.get_by_role("combobox", name="Add series"))
        page.keyboard.type("paid")
        console.press("Enter")
        expect(sentence(console)).to_have_text(
            "How often paid happened, per day, last 30 days, without test accounts."
        )
        figure = chart(console)
        expect(figure).to_have_attribute(
            "aria-valuetext", re.compile(f"so far: paid {times.total()}$")
        )
        console.tab_to(figure)
        console.press("End", "Enter")

        drawer = page.get_by_role("dialog", name="Persons behind this number")
        expect(drawer).to_have_accessible_description(re.compile(f"so far|: {times.total()}$"))
        rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")
        expect(rows).to_have_count(1 + len(times))
        for name, count in times.items():
            expect(rows.filter(has_text=name)).to_contain_text(str(count))
        console.press("Escape")
        expect(figure).to_be_focused()
        console.press("t")
        cells = page.get_by_role("region", name="Result").get_by_role("cell")
        expect(cells.last).to_have_text(str(times.total()))
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    header, *lines = rows_of(download.value.path())
    assert header == ["Time", "paid"]
    assert [line[1] for line in lines] == ["0"] * 30 + [str(times.total())]
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})


def test_back_and_forward_lead_through_the_changes_of_a_question(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann")
    page = console.page
    console.open(insight(project, series=[{"event": "paid"}]))
    expect(sentence(console)).to_contain_text("How often paid happened, per day")

    console.choose(page.get_by_role("combobox", name="What is counted"), "Unique persons")
    expect(sentence(console)).to_contain_text("How many persons did paid, per day")
    console.settle()
    console.choose(page.get_by_role("combobox", name="Interval"), "by week")
    expect(sentence(console)).to_contain_text("per week")
    console.settle()
    assert "interval=week" in page.url

    page.go_back()
    expect(sentence(console)).to_contain_text("How many persons did paid, per day")
    page.go_back()
    expect(sentence(console)).to_contain_text("How often paid happened, per day")
    page.go_forward()
    page.go_forward()
    expect(sentence(console)).to_contain_text("How many persons did paid, per week")
    page.reload()
    expect(sentence(console)).to_contain_text("How many persons did paid, per week")


def test_what_an_address_has_without_a_meaning_is_said(console: Console, project: Project) -> None:
    project.events("paid", "ann")

    console.open(
        insight(project, series=[{"event": "paid", "math": "mode"}], interval="decade", of="x")
    )

    problems = console.page.get_by_role("status").get_by_role("listitem")
    expect(problems).to_have_count(3)
    expect(problems.filter(has_text="series[0].math")).to_contain_text('"mode". Allowed: total')
    expect(problems.filter(has_text="interval")).to_contain_text('"decade"')
    expect(problems.filter(has_text="of cannot")).to_contain_text('"x"')
    expect(sentence(console)).to_contain_text("How often paid happened, per day")


def test_every_chart_of_a_breakdown_shows_the_same_numbers(
    console: Console, project: Project
) -> None:
    plans = {"pro": ("ann", "ann", "bob"), "free": ("cem",)}
    for plan, people in plans.items():
        project.events("paid", *people, plan=plan)
    project.events("paid", "dan", "dan")
    today = {"pro": 3, "free": 1, "no value": 2}
    page = console.page
    console.open(
        insight(
            project,
            series=[{"event": "paid"}],
            breakdowns=[{"property": "plan"}],
            **{"from": "-7d"},
        )
    )
    display = page.get_by_role("combobox", name="Chart")

    for name in ("Lines", "Areas", "Stacked bars", "Bars side by side", "Running sums"):
        if display.inner_text() != name:
            console.choose(display, name)
            console.settle()
        *_, last = numbers(console)
        assert last[1:] == ["3", "2", "1"], name
        page.mouse.move(
            0, 0
        )  # the mouse was on an option above the chart, which would show a point
        expect(chart(console)).to_have_attribute(
            "aria-valuetext", re.compile("pro 3, no value 2, free 1$")
        )
        console.expect_accessible()
    for name in ("Bars of totals", "Pie", "Number"):
        console.choose(display, name)
        console.settle()
        assert {row[0]: int(row[1]) for row in numbers(console)} == today, name
        console.expect_accessible()
    console.choose(display, "Table")
    console.settle()
    cells = page.get_by_role("region", name="Result").get_by_role("cell")
    expect(cells).to_have_text(["3", "2", "1"])
    cells.get_by_role("button", name="3").click()
    drawer = page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer).to_have_accessible_description("pro, total: 3")
    rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="ann")).to_contain_text("2")
    expect(rows.filter(has_text="bob")).to_contain_text("1")


def test_an_answer_says_how_many_values_it_shows_and_what_it_took(
    console: Console, project: Project
) -> None:
    plans = {"pro": ("ann", "ann", "bob"), "free": ("cem", "dan"), "trial": ("eve",)}
    for plan, people in plans.items():
        project.events("paid", *people, plan=plan)
        project.events("viewed", people[0], plan=plan)
    project.events("viewed", "eve", plan="none")
    both = [{"event": "paid"}, {"event": "viewed"}]
    question = {"breakdowns": [{"property": "plan"}], "limit": 2, "from": "-7d"}
    page = console.page
    footer = page.get_by_role("region", name="Result").locator("footer")
    console.open(insight(project, series=both[:1], **question))
    console.settle()

    expect(footer).to_contain_text(f"2 of {len(plans)} values shown")
    assert numbers(console)[-1][1:] == ["3", "2", "1"]
    footer.get_by_role("time").hover()
    cost = re.compile(r"\d rows? read in [\d.,]+ s")
    expect(page.get_by_role("tooltip")).to_contain_text(cost)
    expect(footer.get_by_role("time")).to_contain_text(cost)
    console.open(insight(project, series=both, **question))
    expect(footer).to_contain_text("2 of 3 values of paid, 2 of 4 values of viewed shown")
    console.open(insight(project, series=both, **question | {"limit": 4}))
    console.settle()
    expect(footer).to_contain_text("Calculated")
    expect(footer).not_to_contain_text("shown")
    console.expect_accessible()


def test_a_formula_is_calculated_and_its_error_stands_beside_it(
    console: Console, project: Project
) -> None:
    project.events("viewed", "ann", "ann", "ann", "bob")
    project.events("paid", "ann")
    page = console.page
    console.open(insight(project, series=[{"event": "viewed"}, {"event": "paid"}]))

    page.get_by_role("button", name="Add formula").click()
    console.settle()
    *_, last = numbers(console)
    assert last[1:] == ["4"]
    expect(sentence(console)).to_contain_text("A / B, where A is how often viewed happened")
    field = page.get_by_role("textbox", name="Formula 1", exact=True)
    field.fill("A / C")
    expect(page.get_by_text('There is no series "C".')).to_be_visible()
    console.watch.problems.clear()  # the server refused the question
    field.fill("(A - B) * 2")
    page.get_by_role("textbox", name="Name of formula 1").fill("Rest")
    console.settle()
    *_, last = numbers(console)
    assert last[1:] == ["6"]
    expect(
        page.get_by_role("region", name="Numbers").get_by_role("columnheader").last
    ).to_have_text("Rest")


def test_a_query_is_copied_and_another_one_is_opened_in_the_builder(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann", "bob")
    page = console.page
    console.open(insight(project, series=[{"event": "paid"}]))

    console.press(".")
    dialog = page.get_by_role("dialog", name="As JSON")
    query = json.loads(dialog.get_by_role("textbox").input_value())
    assert query["kind"] == "TrendsQuery"
    answered = project.post("/query/", query=query)
    assert [entry["count"] for entry in answered["results"]] == [2]
    console.expect_accessible()
    dialog.get_by_role("textbox").fill(json.dumps({**query, "interval": "fortnight"}))
    dialog.get_by_role("button", name="Open this query").click()
    expect(dialog.get_by_role("alert")).to_contain_text('interval cannot be used: "fortnight"')
    node = {"kind": "EventsNode", "event": "paid", "math": "dau", "custom_name": "Buyers"}
    wrapped = {
        "kind": "InsightVizNode",
        "source": {**query, "series": [node], "trendsFilter": {"display": "BoldNumber"}},
    }
    dialog.get_by_role("textbox").fill(json.dumps(wrapped))
    dialog.get_by_role("button", name="Open this query").click()

    expect(dialog).to_have_count(0)
    expect(sentence(console)).to_contain_text(
        "How many persons did paid called Buyers, in total, last 30 days"
    )
    console.settle()
    assert numbers(console) == [["Buyers", "2"]]
    page.get_by_role("button", name="Open as SQL").click()
    expect(page.get_by_role("textbox", name="SQL query")).to_contain_text("uniqExact(person_id)")
    expect(page.get_by_role("grid", name="Result").get_by_role("gridcell")).to_have_text("2")


def test_groups_are_counted_and_open_in_place_of_persons(
    console: Console, project: Project
) -> None:
    for name, people in {"acme": ("ann", "bob"), "initech": ("cem",)}.items():
        identified = {"$group_type": "company", "$group_key": name, "$group_set": {"name": name}}
        project.events("$groupidentify", people[0], **identified)
        project.events("paid", *people, **{"$groups": {"company": name}})
    page = console.page
    console.open(insight(project, series=[{"event": "paid"}], **{"from": "dStart"}))

    console.choose(page.get_by_role("combobox", name="What is counted"), "Unique company groups")
    expect(sentence(console)).to_contain_text("For how many company groups paid happened, per day")
    console.settle()
    assert [row[1:] for row in numbers(console)] == [["2"]]
    page.get_by_role("region", name="Numbers").get_by_role("button", name="2").click()

    drawer = page.get_by_role("dialog", name="Groups behind this number")
    rows = drawer.get_by_role("grid", name="Groups").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="acme")).to_contain_text("2")
    expect(drawer.get_by_role("button", name="Save as cohort")).to_have_count(0)
    rows.filter(has_text="initech").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1, name="initech")).to_be_visible()


def test_a_question_begins_at_an_event_a_cohort_a_person_and_a_flag(
    console: Console, project: Project
) -> None:
    project.persons(ann={"email": "ann@corp.example", "plan": "pro"}, bob={"plan": "free"})
    project.events("paid", "ann", "bob", **{"$feature/color": "blue"})
    cohort = project.cohort("Pros", has("plan", "pro"))
    flag = project.flag("color")
    project.await_cohorts()
    (definition,) = project.get("/event_definitions/", search="paid")["results"]
    page = console.page
    beginnings = {
        f"events/{definition['id']}": ("How often paid happened, per day", "2"),
        f"cohorts/{cohort['id']}": (
            "any event, per day, last 30 days, where in the cohort Pros",
            "1",
        ),
        f"persons/{project.person('ann')['uuid']}": ("where email is ann@corp.example", "2"),
        f"flags/{flag['id']}?tab=usage": ("broken down by Flag color", "2"),
    }

    for path, (said, number) in beginnings.items():
        console.open(project.at(path))
        page.get_by_role("link", name="Ask about this").click()
        expect(sentence(console)).to_contain_text(said)
        console.settle()
        assert numbers(console)[-1][-1] == number, path


def test_a_question_begins_at_a_variant_of_a_flag(console: Console, project: Project) -> None:
    shares = [{"key": key, "rollout_percentage": 50} for key in ("blue", "red")]
    flag = project.flag("color", filters={"multivariate": {"variants": shares}})
    plain = project.flag("plain")
    project.events("paid", "ann", "bob", "bob", **{"$feature/color": "blue"})
    project.events("paid", "cem", **{"$feature/color": "red", "$feature/plain": True})
    page = console.page

    for opened, value, persons in ((flag, "blue", 2), (flag, "red", 1), (plain, "true", 1)):
        console.open(project.at(f"flags/{opened['id']}"))
        page.get_by_role("link", name=f"Ask about persons with {value}").click()
        expect(sentence(console)).to_have_text(
            "How many persons did any event, per day, last 30 days, "
            f"where Flag {opened['key']} is {value}, without test accounts."
        )
        console.settle()
        assert numbers(console)[-1][-1] == str(persons), value


def test_conditions_hold_and_what_is_not_complete_is_left_out(
    console: Console, project: Project
) -> None:
    chain = {"$elements_chain": 'button.buy:text="Pay";form:'}
    project.events("paid", "ann", plan="pro")
    project.events("paid", "bob", plan="pro", **chain)
    project.events("paid", "cem", plan="free")
    page = console.page
    console.open(insight(project, series=[{"event": "paid"}], **{"from": "dStart"}))
    conditions = page.get_by_role("group", name="Conditions on all").first

    conditions.get_by_role("button", name="Add condition").click()
    conditions.get_by_role("combobox", name="Property", exact=True).fill("plan")
    console.press("Enter")
    expect(sentence(console)).to_have_text(
        "How often paid happened, per day, today, without test accounts."
    )
    console.settle()
    assert numbers(console)[-1][1:] == ["3"]
    conditions.get_by_role("combobox", name="Values").fill("pro")
    console.press("Enter")
    expect(sentence(console)).to_contain_text("today, where plan is pro, without")
    console.settle()
    assert numbers(console)[-1][1:] == ["2"]
    page.get_by_role("switch", name="Without test accounts").click()
    expect(sentence(console)).to_contain_text("test accounts included.")
    console.settle()
    assert numbers(console)[-1][1:] == ["2"]
    conditions.get_by_role("button", name="Add condition").click()
    console.choose(
        conditions.get_by_role("combobox", name="Kind of condition").last, "Clicked element"
    )
    console.choose(conditions.get_by_role("combobox", name="Compared"), "CSS selector")
    conditions.get_by_role("combobox", name="Values").last.fill("form > .buy")
    console.press("Enter")
    expect(sentence(console)).to_contain_text("plan is pro and clicked element is form > .buy")
    console.settle()
    assert numbers(console)[-1][1:] == ["1"]
    console.expect_accessible()


def test_expressions_in_sql_are_shown_edited_and_refused_in_place(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann", "bob", plan="pro")
    project.events("paid", "cem", plan="free")
    page = console.page
    series = {"event": "paid", "math": "hogql", "math_hogql": "count() * 10"}
    console.open(
        insight(
            project,
            series=[series],
            properties=[{"type": "hogql", "key": "properties.plan = 'pro'"}],
            breakdowns=[{"property": "upper(properties.plan)", "type": "hogql"}],
            **{"from": "dStart"},
        )
    )

    expect(sentence(console)).to_contain_text("count() * 10 of paid")
    expect(sentence(console)).to_contain_text("where properties.plan = 'pro',")
    expect(sentence(console)).to_contain_text("broken down by upper(properties.plan)")
    console.settle()
    assert numbers(console)[-1][1:] == ["20"]

    aggregate = page.get_by_role("textbox", name="Aggregate in SQL")
    aggregate.fill("uniq(person_id) +")
    console.press("Enter")
    expect(page.get_by_text("The query cannot be read")).to_be_visible()
    console.watch.problems.clear()  # the server refused the question
    aggregate.fill("uniq(person_id)")
    console.press("Enter")
    expect(page.get_by_text("The query cannot be read")).to_have_count(0)
    page.get_by_role("textbox", name="Expression in SQL").first.fill("1 = 1")
    console.press("Enter")
    expect(sentence(console)).to_contain_text("where 1 = 1,")
    console.settle()
    assert numbers(console)[-1][1:] == ["2", "1"]
    console.expect_accessible()


def test_a_period_is_compared_and_the_numbers_of_both_open(
    console: Console, project: Project
) -> None:
    now = datetime.now(UTC)
    times = {"ann": 0, "bob": 0, "cem": 1, "dan": 2}
    project.capture(
        *(
            {
                "event": "paid",
                "distinct_id": name,
                "timestamp": (now - timedelta(days=7 * weeks)).isoformat(),
            }
            for name, weeks in times.items()
        )
    )
    page = console.page
    console.open(insight(project, series=[{"event": "paid", "math": "dau"}], **{"from": "dStart"}))

    console.choose(page.get_by_role("combobox", name="Comparison"), "with a week earlier")
    expect(sentence(console)).to_contain_text("compared with 1 week earlier")
    console.settle()
    assert numbers(console)[-1][1:] == ["2", "1"]
    page.get_by_role("region", name="Numbers").get_by_role("button", name="1").click()
    drawer = page.get_by_role("dialog", name="Persons behind this number")
    rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("cem")


def test_a_map_shows_countries_by_name(console: Console, project: Project) -> None:
    people = {"DE": ("ann", "bob", "cem"), "JP": ("dan",), "<b>": ("eve",)}
    for country, names in people.items():
        project.events("paid", *names, **{"$geoip_country_code": country})
    page = console.page
    console.open(insight(project, series=[{"event": "paid"}]))

    console.choose(page.get_by_role("combobox", name="Chart"), "World map")
    expect(sentence(console)).to_contain_text("broken down by Country code (250 values at most)")
    console.settle()
    assert sorted(numbers(console)) == [["<b>", "1"], ["DE", "3"], ["JP", "1"]]
    result = page.get_by_role("region", name="Result")
    expect(result.locator("circle")).to_have_count(2)
    console.expect_accessible()
    result.get_by_role("button", name="Germany").click()
    drawer = page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer.get_by_role("grid").get_by_role("row")).to_have_count(4)


def test_the_numbers_of_the_table_are_reached_and_opened_by_keys(
    console: Console, project: Project
) -> None:
    project.events("viewed", "ann", "bob")
    project.events("paid", "ann")
    page = console.page
    console.open(
        insight(project, series=[{"event": "viewed"}, {"event": "paid"}], **{"from": "-7d"})
    )

    with console.keyboard_only():
        console.tab_to(page.get_by_role("region", name="Numbers"))
        console.press("ArrowDown", "ArrowRight")
        expect(page.locator(":focus")).to_have_text("1")
        console.press("Enter")
        drawer = page.get_by_role("dialog", name="Persons behind this number")
        expect(drawer).to_have_accessible_description(re.compile("paid, .*: 1$"))
        console.press("Escape")
        expect(page.locator(":focus")).to_have_text("1")


def test_hours_of_the_week_are_a_table_whose_numbers_open_their_persons(
    console: Console, project: Project
) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    at = yesterday.replace(hour=9, minute=30, second=0, microsecond=0)
    project.capture(
        *(
            {"event": "paid", "distinct_id": who, "timestamp": at.isoformat()}
            for who in ("ann", "bob", "bob")
        )
    )
    page = console.page
    console.open(insight(project, series=[{"event": "paid", "math": "dau"}, {"event": "viewed"}]))
    console.choose(page.get_by_role("combobox", name="Chart"), "Weekdays and hours")
    expect(sentence(console)).to_have_text(
        "How many persons did paid, per hour of each weekday, last 30 days, without test accounts."
    )
    grid = page.get_by_role("grid", name="Weekdays and hours")
    row = grid.get_by_role("row", name=re.compile(f"^{at:%A}"))
    expect(row.get_by_role("button").nth(9)).to_have_text("2")
    expect(row.get_by_role("button").last).to_have_text("2")

    with console.keyboard_only():
        console.tab_to(grid.get_by_role("button").first)
        console.press(*["ArrowDown"] * at.weekday(), *["ArrowRight"] * 9, "Enter")
        drawer = page.get_by_role("dialog", name="Persons behind this number")
        expect(drawer).to_have_accessible_description(
            re.compile(f"paid, {at:%A}, 9:00 to 10:00: 2$")
        )
        rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")
        expect(rows).to_have_count(3)
        console.press("Escape")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    header, *lines = rows_of(download.value.path())
    assert (header[0], header[10], len(header), len(lines)) == ("Weekday", "9:00", 26, 8)
    assert lines[at.weekday()][10] == lines[7][10] == lines[7][25] == "2"
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
