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
