"""Funnels in the console: how many go from step to step, and who drops out where."""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

from tests.console.input_devices import InputDevice, Keyboard, Pointer
from tests.console.project import Json, Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

STEPS = ("seen", "tried", "paid")
NOW = datetime.now(UTC).replace(microsecond=0)
# Two hours ago, and not on another day for most of the day: no number depends on it.
BEGAN = NOW - timedelta(hours=2)


@dataclass(frozen=True)
class Journey:
    """The events of a person, each with its minutes after the first."""

    country: str
    events: tuple[tuple[str, int], ...]


JOURNEYS = {
    "ann": Journey("DE", (("seen", 0), ("tried", 2), ("paid", 12))),
    "bob": Journey("DE", (("seen", 0), ("tried", 6), ("helped", 7))),
    "cem": Journey("DE", (("seen", 0),)),
    "dora": Journey("FR", (("seen", 0), ("tried", 10), ("helped", 11), ("paid", 40))),
    "eve": Journey("FR", (("tried", 0), ("seen", 1))),
    "fay": Journey("FR", (("seen", 0), ("tried", 4))),
}


def reached(journey: Journey, steps: Iterable[str] = STEPS) -> int:
    """Return how many steps a person went through in order; each event comes once."""
    count, at = 0, -1
    for step in steps:
        found = [minute for name, minute in journey.events if name == step and minute > at]
        if not found:
            return count
        count, at = count + 1, min(found)
    return count


def reaching(step: int, country: str | None = None) -> set[str]:
    """Return who reached a step, from 1."""
    return {
        name
        for name, journey in JOURNEYS.items()
        if reached(journey) >= step and country in (None, journey.country)
    }


def dropping(step: int, country: str | None = None) -> set[str]:
    return reaching(step - 1, country) - reaching(step, country)


@pytest.fixture
def shop(project: Project) -> Project:
    project.capture(*captured())
    return project


def captured() -> Iterator[Json]:
    for name, journey in JOURNEYS.items():
        yield {"event": "$identify", "distinct_id": name, "timestamp": BEGAN.isoformat()}
        for event, minute in journey.events:
            yield {
                "event": event,
                "distinct_id": name,
                "timestamp": (BEGAN + timedelta(minutes=minute)).isoformat(),
                "properties": {"country": journey.country},
            }


def funnel(project: Project, *steps: str, **question: object) -> str:
    """Return the path of a question, whose parts stand in the address as JSON."""
    parts = {"series": [{"event": step} for step in steps or STEPS], **question}
    texts = {
        name: part if isinstance(part, str) else json.dumps(part) for name, part in parts.items()
    }
    query = "&".join(f"{name}={quote(text)}" for name, text in texts.items())
    return project.at(f"insights/new?kind=funnels&{query}")


def result(console: Console) -> Locator:
    return console.page.get_by_role("region", name="Result")


def chart(console: Console) -> Locator:
    return result(console).get_by_role("slider")


def sentence(console: Console) -> Locator:
    return console.page.get_by_role("note", name="The question as a sentence")


def csv_of(console: Console) -> list[dict[str, str]]:
    with console.page.expect_download() as download:
        result(console).get_by_role("button", name="Download as CSV").click()
    return list(csv.DictReader(Path(download.value.path()).read_text("utf-8-sig").splitlines()))


def drawer(console: Console) -> Locator:
    return console.page.get_by_role("dialog", name="Persons behind this number")


def expect_people(console: Console, names: set[str]) -> None:
    rows = drawer(console).get_by_role("grid", name="Persons").get_by_role("row")
    expect(rows).to_have_count(1 + len(names))
    for name in names:
        expect(rows.filter(has_text=name)).to_be_visible()


def test_chart_table_csv_and_people_of_a_funnel_agree(console: Console, shop: Project) -> None:
    counts = [len(reaching(step)) for step in (1, 2, 3)]
    assert counts == [6, 4, 2]
    page = console.page
    console.open(funnel(shop))

    expect(sentence(console)).to_have_text(
        "Of the persons who did seen, how many then did tried and then paid, within 14 days of "
        "the first, last 30 days, without test accounts."
    )
    lines = csv_of(console)
    assert [int(line["Persons"]) for line in lines] == counts
    assert [line["Dropped out"] for line in lines] == ["", "2", "2"]
    assert [line["% of the step before"] for line in lines] == ["", "66.67", "50"]
    assert [line["% of the first step"] for line in lines] == ["100", "66.67", "33.33"]
    assert [line["Median time (s)"] for line in lines] == ["", "300", "1200"]
    table = page.get_by_role("region", name="Numbers of the funnel")
    for step, name in enumerate(STEPS, 1):
        row = table.get_by_role("row").filter(has_text=name)
        expect(row.get_by_role("button").first).to_have_text(str(counts[step - 1]))

    with console.keyboard_only():
        console.tab_to(chart(console))
        for step, is_dropped in ((1, False), (2, True), (2, False), (3, True), (3, False)):
            console.press("Home", *["ArrowRight"] * (2 * (step - 1) - is_dropped))
            names = dropping(step) if is_dropped else reaching(step)
            said = "Dropped out before" if is_dropped else "Reached"
            text = f"{said} {step}. {STEPS[step - 1]}: {len(names)} persons"
            expect(chart(console)).to_have_attribute("aria-valuetext", re.compile(f"^{text}"))
            console.press("Enter")
            expect(drawer(console)).to_have_accessible_description(
                f"{said} {step}. {STEPS[step - 1]}: {len(names)}"
            )
            expect_people(console, names)
            console.press("Escape")
            expect(chart(console)).to_be_focused()
        console.press("t")
        cells = result(console).get_by_role("figure").get_by_role("cell")
        expect(cells.first).to_have_text(str(counts[0]))
        console.press("t")
    table.get_by_role("button", name="Dropped out before 3. paid: 2").click()
    expect_people(console, dropping(3))
    page.get_by_role("button", name="Close").first.click()
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})


@pytest.fixture(params=["pointer", "keys"])
def device(request: pytest.FixtureRequest, console: Console) -> InputDevice:
    return Pointer(console) if request.param == "pointer" else Keyboard(console)


@contextmanager
def limited(device: InputDevice, clicks: int) -> Iterator[None]:
    console = device.console
    with console.clicks_at_most(clicks) if isinstance(device, Pointer) else console.keyboard_only():
        yield


def choose_next(device: InputDevice, text: str) -> None:
    """Type into the field that has the focus, and take what it finds."""
    page = device.console.page
    page.keyboard.type(text)
    expect(page.get_by_role("option", name=text).first).to_be_visible()
    device.console.press("Enter")


def test_a_funnel_of_three_events_by_country_is_asked_in_six_clicks(
    device: InputDevice, shop: Project
) -> None:
    console = device.console
    page = console.page
    console.open(shop.at())

    with limited(device, clicks=6):
        main = page.get_by_role("navigation", name="Main")
        device.act(main.get_by_role("link", name="Insights", exact=True))
        device.act(page.get_by_role("button", name="Funnel", exact=True))
        add = page.get_by_role("combobox", name="Add step")
        device.type(add, "")
        for step in STEPS[:2]:
            choose_next(device, step)
        device.act(page.get_by_role("button", name="Add step"))
        choose_next(device, STEPS[2])
        device.act(page.get_by_role("button", name="Add breakdown"))
        choose_next(device, "country")
        expect(sentence(console)).to_contain_text("broken down by country (25 values at most)")
        console.settle()

    lines = csv_of(console)
    found = {(line["Value"], line["Step"][0]): int(line["Persons"]) for line in lines}
    assert found == {
        (country, str(step)): len(reaching(step, country))
        for country in ("DE", "FR")
        for step in (1, 2, 3)
    }
    page.get_by_role("button", name="Dropped out before 2. tried, FR: 1").click()
    expect_people(console, dropping(2, "FR"))
    expect(drawer(console)).to_have_accessible_description("Dropped out before 2. tried, FR: 1")


def test_who_dropped_out_at_a_step_becomes_a_cohort_in_three_clicks(
    device: InputDevice, shop: Project
) -> None:
    console = device.console
    page = console.page
    console.open(funnel(shop))

    with limited(device, clicks=3):
        if isinstance(device, Pointer):
            chart(console).locator("[data-part=dropped]").first.click()
        else:
            console.tab_to(chart(console))
            console.press("Home", "ArrowRight", "Enter")
        expect(drawer(console)).to_have_accessible_description("Dropped out before 2. tried: 2")
        device.act(drawer(console).get_by_role("button", name="Save as cohort"))
        dialog = page.get_by_role("dialog", name="Save as cohort")
        expect(dialog.get_by_role("textbox", name="Name")).to_have_value(
            "Dropped out before 2. tried"
        )
        device.act(dialog.get_by_role("button", name="Save as cohort"))
        expect(
            page.get_by_role("heading", level=1, name="Dropped out before 2. tried")
        ).to_be_visible()

    shop.await_cohorts()
    (cohort,) = shop.get("/cohorts/")["results"]
    assert cohort["count"] == len(dropping(2))
    members = shop.get(f"/cohorts/{cohort['id']}/persons/")["results"]
    assert {name for member in members for name in member["distinct_ids"]} == dropping(2)
