"""Stickiness and life cycles in the console: how regularly people come back."""

import re
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.console.captured_days import CapturedDays
from tests.console.hostile import MARKUP
from tests.console.inert_values import expect_only_text
from tests.console.insight_page import chart, insight, rows_of, sentence
from tests.console.project import Project
from tests.console.screen import Console, narrow, zoomed

pytestmark = pytest.mark.long("drives Chromium")

DAYS = 5
VISITS: Final = CapturedDays(
    {
        ("ann", "viewed"): [4, 3, 3, 2, 1, 0],
        ("bob", "viewed"): [4, 2],
        ("bob", "paid"): [5],
        ("cem", "viewed"): [3, 3, 2, 2],
        ("dee", "viewed"): [1],
        ("dee", "paid"): [4, 1, 0],
        ("eve", "viewed"): [6, 5, 0],
    }
)
PERIOD: Final = {"from": f"-{DAYS - 1}d"}


def expect_persons(console: Console, count: int, description: str) -> None:
    """Expect the drawer to be open with this many persons, then close it."""
    drawer = console.page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer).to_have_accessible_description(re.compile(description))
    rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")
    expect(rows).to_have_count(1 + count)
    console.press("Escape")
    expect(drawer).to_have_count(0)


def csv_of(console: Console) -> list[list[str]]:
    with console.page.expect_download() as download:
        console.page.get_by_role("button", name="Download as CSV").click()
    return rows_of(download.value.path())


def test_all_that_shows_stickiness_agrees_by_keys(console: Console, project: Project) -> None:
    VISITS.capture(project)
    page = console.page
    console.open(insight(project, series=[{"event": "viewed"}, {"event": "paid"}], **PERIOD))
    viewed, paid = (VISITS.on_days(event, DAYS) for event in ("viewed", "paid"))

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Stickiness"))
        console.press("Enter")
        expect(sentence(console)).to_have_text(
            "How many persons did viewed and how many persons did paid, on exactly 1, 2, 3 and so "
            "on days, last 4 days, without test accounts."
        )
        console.settle()
        console.tab_to(chart(console))
        console.press("Home")
        for number in range(DAYS):
            days = "1 day" if number == 0 else f"{number + 1} days"
            expect(chart(console)).to_have_attribute(
                "aria-valuetext", f"{days}: viewed {viewed[number]}, paid {paid[number]}"
            )
            if viewed[number]:
                console.press("Enter")
                expect_persons(console, viewed[number], f"^viewed, {days}: {viewed[number]}$")
                expect(chart(console)).to_be_focused()
            console.press("ArrowRight")
        console.press("t")
        cells = page.get_by_role("region", name="Result").get_by_role("cell")
        expect(cells).to_have_text(
            [str(n) for pair in zip(viewed, paid, strict=True) for n in pair]
        )
    header, *lines = csv_of(console)
    assert header == ["Days", "viewed", "paid"]
    assert [line[1:] for line in lines] == [
        [str(a), str(b)] for a, b in zip(viewed, paid, strict=True)
    ]


def test_stickiness_needs_as_many_events_as_are_asked_for_and_compares(
    console: Console, project: Project
) -> None:
    VISITS.capture(project)
    console.open(
        insight(project, kind="stickiness", series=[{"event": "viewed"}], compare=True, **PERIOD)
    )
    console.page.get_by_role("textbox", name="Number", exact=True).fill("2")
    console.page.get_by_role("switch", name="Count persons with more, too").click()

    expect(sentence(console)).to_have_text(
        "How many persons did viewed, on 1, 2, 3 and so on days or more at least 2 times in each "
        "day, last 4 days, compared with the previous period, without test accounts."
    )
    console.settle()
    exactly = VISITS.on_days("viewed", DAYS, least=2)
    assert "stickinessCriteria" in console.page.url
    console.page.get_by_role("switch", name="Count persons with more, too").click()
    console.page.get_by_role("textbox", name="Number", exact=True).fill("1")
    console.settle()
    before = CapturedDays(
        {
            key: [ago - DAYS + 1 for ago in days if ago >= DAYS - 1]
            for key, days in VISITS.days_ago.items()
        }
    ).on_days("viewed", DAYS)
    lines = csv_of(console)[1:]
    assert [line[2] for line in lines] == [str(count) for count in before]
    assert exactly[1] == 1

    # The previous period's line opens the persons of that period.
    console.tab_to(chart(console))
    console.press("Home", "ArrowRight", "ArrowDown", "Enter")
    expect_persons(console, before[1], rf"\(previous period\), 2 days: {before[1]}$")


def test_all_that_shows_a_life_cycle_agrees_by_keys(console: Console, project: Project) -> None:
    VISITS.capture(project)
    page = console.page
    console.open(insight(project, kind="lifecycle", series=[{"event": "viewed"}], **PERIOD))
    expect(sentence(console)).to_have_text(
        "How many persons who did viewed were new, returning, resurrecting or dormant, per day, "
        "last 4 days, without test accounts."
    )
    expected = [VISITS.life_cycle("viewed", ago) for ago in range(DAYS - 1, -1, -1)]
    numbers = [
        [-len(who) if status == "Dormant" else len(who) for status, who in day.items()]
        for day in expected
    ]

    with console.keyboard_only():
        console.tab_to(chart(console))
        console.press("Home")
        for day in numbers:
            for status, number in zip(expected[0], day, strict=True):
                shown = f"{number}".replace("-", "-")
                expect(chart(console)).to_have_attribute(
                    "aria-valuetext", re.compile(f": {status} {shown}")
                )
                if number:
                    console.press("Enter")
                    expect_persons(
                        console, abs(number), f"^viewed, {status.lower()}, .*: {abs(number)}$"
                    )
                console.press("ArrowDown")
            for _ in day:
                console.press("ArrowUp")
            console.press("ArrowRight")
        console.press("t")
        cells = page.get_by_role("region", name="Result").get_by_role("cell")
        expect(cells).to_have_text([str(number) for day in numbers for number in day])
    header, *lines = csv_of(console)
    assert header == ["Time", *expected[0]]
    assert [[int(cell) for cell in line[1:]] for line in lines] == numbers

    console.press("t")
    page.get_by_role("checkbox", name="Dormant").click()
    expect(sentence(console)).to_contain_text("were new, returning or resurrecting, per day")
    console.settle()
    assert csv_of(console)[0] == ["Time", "New", "Returning", "Resurrecting"]


@pytest.mark.parametrize("kind", ["stickiness", "lifecycle"])
def test_hostile_names_are_only_text(console: Console, project: Project, kind: str) -> None:
    CapturedDays({("ann", MARKUP): [2, 1], ("bob", MARKUP): [0]}).capture(project)
    series = [{"event": MARKUP}, {"event": MARKUP, "custom_name": "x" * 200}, {"event": MARKUP}]

    console.open(insight(project, kind=kind, series=series))

    expect(chart(console)).to_be_visible()
    expect_only_text(console.page)
    console.expect_accessible()
    console.expect_to_fit_in(narrow(390), narrow(360), zoomed(200))
