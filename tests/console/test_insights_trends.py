"""Trends in the console: what is asked, and the numbers, which every view of them shows alike."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def insight(project: Project, **question: object) -> str:
    """Return the path of a question, whose parts stand in the address as JSON."""
    texts = {
        name: part if isinstance(part, str) else json.dumps(part) for name, part in question.items()
    }
    return project.at(f"insights/new?{'&'.join(f'{k}={quote(v)}' for k, v in texts.items())}")


def chart(console: Console) -> Locator:
    return console.page.get_by_role("region", name="Result").get_by_role("slider")


def sentence(console: Console) -> Locator:
    return console.page.get_by_role("note", name="The question as a sentence")


def rows_of(file: Path) -> list[list[str]]:
    return list(csv.reader(file.read_text(encoding="utf-8-sig").splitlines()))


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
        insight(project, series=[{"event": "paid", "math": "mode"}], interval="year", of="x")
    )

    problems = console.page.get_by_role("status").get_by_role("listitem")
    expect(problems).to_have_count(3)
    expect(problems.filter(has_text="series[0].math")).to_contain_text('"mode". Allowed: total')
    expect(problems.filter(has_text="interval")).to_contain_text('"year"')
    expect(problems.filter(has_text="of cannot")).to_contain_text('"x"')
    expect(sentence(console)).to_contain_text("How often paid happened, per day")


def numbers(console: Console) -> list[list[str]]:
    """Return the rows of the table below the chart, each with its name."""
    table = console.page.get_by_role("region", name="Numbers")
    expect(table).to_be_visible()
    return [
        row.get_by_role("rowheader").all_inner_texts() + row.get_by_role("cell").all_inner_texts()
        for row in table.get_by_role("row").all()[1:]
    ]


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
        page.mouse.move(0, 0)  # the option lay above the chart, whose point it shows then
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
