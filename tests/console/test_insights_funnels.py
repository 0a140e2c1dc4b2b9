"""Funnels in the console: conversion from step to step, and who drops out where."""

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

from tests.console.funnel_shop import (
    BEGAN,
    JOURNEYS,
    STEPS,
    Journey,
    at_level,
    captured,
    dropping,
    in_any_order,
    in_ten_minutes,
    reaching,
    strictly,
    without_help,
)
from tests.console.input_devices import InputDevice, Keyboard, Pointer, replace_text
from tests.console.insight_page import chart, drawer, sentence
from tests.console.project import Json, Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


@pytest.fixture
def shop(project: Project) -> Project:
    project.capture(*captured())
    return project


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


def csv_of(console: Console) -> list[dict[str, str]]:
    with console.page.expect_download() as download:
        result(console).get_by_role("button", name="Download as CSV").first.click()
    return list(csv.DictReader(Path(download.value.path()).read_text("utf-8-sig").splitlines()))


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
        reached = row.get_by_role("button", name=re.compile("^Reached"))
        expect(reached).to_have_text(str(counts[step - 1]))

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

    table.get_by_role("button", name="Paths around 3. paid").click()
    page.get_by_role("menuitem", name="Paths after dropping out before this step").click()
    expect(sentence(console)).to_contain_text(
        "after the last step of those who dropped out before step 3, paid of the funnel seen → "
        "tried → paid, 5 steps at most, last 30 days"
    )
    graph = page.get_by_role("group", name="Paths, step by step")
    expect(graph.get_by_role("button", name="Step 1, tried 2 paths", exact=True)).to_be_visible()
    console.choose(page.get_by_role("combobox", name="Which part"), "Between the step before and")
    expect(graph.get_by_role("button", name="Step 1, tried 2 paths", exact=True)).to_be_visible()
    expect(graph.get_by_role("button", name="Step 2, paid 1 path", exact=True)).to_be_visible()
    page.screenshot(path="/tmp/within.png", full_page=True)
    console.expect_accessible()
    console.expect_to_fit_in({"width": 360, "height": 640})
    page.get_by_role("button", name="Show paths of all persons").click()
    expect(sentence(console)).not_to_contain_text("of the funnel")


def test_a_step_that_may_be_skipped(console: Console, shop: Project) -> None:
    """Bob and dora were helped after they tried; ann and fay were not, and ann paid."""
    page = console.page
    console.open(funnel(shop, "seen", "tried", "helped", "paid"))

    page.get_by_role("button", name="More for 3 helped").click()
    page.get_by_role("menuitem", name="May be skipped").click()
    expect(sentence(console)).to_contain_text(
        "how many then did tried and then helped (may be skipped) and then paid"
    )
    console.settle()
    lines = csv_of(console)
    assert [int(line["Persons"]) for line in lines] == [6, 4, 2, 2]
    assert [line["% of the step before"] for line in lines] == ["", "66.67", "50", "50"]
    table = page.get_by_role("region", name="Numbers of the funnel")
    table.get_by_role("button", name="Skipped 3. helped (optional): 2").click()
    expect_people(console, {"ann", "fay"})
    console.press("Escape")
    table.get_by_role("button", name="Dropped out before 4. paid: 2").click()
    expect_people(console, {"bob", "fay"})
    console.press("Escape")
    console.expect_accessible()

    page.get_by_role("button", name="Step 3 may not be skipped").click()
    expect(table.get_by_role("button", name="Reached 4. paid: 1")).to_be_visible()
    page.get_by_role("button", name="More for 1 seen").click()
    page.get_by_role("menuitem", name="Only the first time").click()
    expect(sentence(console)).to_contain_text("who did seen for the first time ever")
    expect(table.get_by_role("button", name="Reached 1. seen: 6")).to_be_visible()


def test_periods_and_values_are_compared(console: Console, shop: Project) -> None:
    """Ann and bob saw something a month before, and bob tried it then."""
    page, before = console.page, BEGAN - timedelta(days=31)
    shop.capture(
        *(
            {
                "event": event,
                "distinct_id": who,
                "timestamp": (before + timedelta(minutes=minute)).isoformat(),
                "properties": {"country": "DE"},
            }
            for who, event, minute in (("ann", "seen", 0), ("bob", "seen", 0), ("bob", "tried", 7))
        )
    )
    console.open(funnel(shop, "seen", "tried"))

    console.choose(page.get_by_role("combobox", name="Comparison"), "with the previous period")
    expect(sentence(console)).to_contain_text("compared with the previous period")
    console.settle()
    lines = csv_of(console)
    assert [(line["Value"], line["Persons"]) for line in lines] == [
        ("This period", "6"),
        ("This period", "4"),
        ("Previous period", "2"),
        ("Previous period", "1"),
    ]
    table = page.get_by_role("region", name="Numbers of the funnel")
    table.get_by_role("button", name="Reached 2. tried, Previous period: 1").click()
    expect_people(console, {"bob"})
    console.press("Escape")
    console.expect_accessible()

    console.choose(page.get_by_role("combobox", name="What is shown"), "Conversion over time")
    console.settle()
    entered = [int(line["Entered"]) for line in csv_of(console) if line["Value"] != "This period"]
    assert sum(entered) == 2
    parts = {"breakdowns": [{"property": "country"}], "compare": True}
    options = {"funnels": {"funnelVizType": "time_to_convert"}}
    console.open(funnel(shop, "seen", "tried", **parts, **options))
    expect(result(console).get_by_role("figure")).to_have_count(3)
    counts: dict[str, int] = {}
    for line in csv_of(console):
        counts[line["Value"]] = counts.get(line["Value"], 0) + int(line["Persons"])
    assert counts == {"DE": 2, "FR": 2, "DE (previous period)": 1}
    console.expect_accessible()


HELPED = {"kind": "EventsNode", "event": "helped", "funnelFromStep": 0, "funnelToStep": 2}


@pytest.mark.parametrize(
    ("options", "said", "level"),
    [
        ({"funnelOrderType": "strict"}, "did, as their very next event, tried", strictly),
        ({"funnelOrderType": "unordered"}, "how many did how many of them", in_any_order),
        ({"exclusions": [HELPED]}, "without persons who did helped between step 1", without_help),
        (
            {"funnelWindowInterval": 10, "funnelWindowIntervalUnit": "minute"},
            "within 10 minutes of the first",
            in_ten_minutes,
        ),
    ],
    ids=["strict", "unordered", "exclusion", "window"],
)
def test_options_count_and_are_said(
    console: Console,
    shop: Project,
    options: Json,
    said: str,
    level: Callable[[Journey], int],
) -> None:
    who = [at_level(step, level) for step in (1, 2, 3)]
    console.open(funnel(shop, funnels=options))

    expect(sentence(console)).to_contain_text(said)
    assert [int(line["Persons"]) for line in csv_of(console)] == [len(names) for names in who]
    table = console.page.get_by_role("region", name="Numbers of the funnel")
    table.get_by_role("row").nth(2).get_by_role("button", name=re.compile("^Reached")).click()
    expect_people(console, who[1])


def test_the_time_to_convert_is_drawn_with_its_average(console: Console, shop: Project) -> None:
    times = sorted(
        60 * (dict(one.events)["paid"] - dict(one.events)["seen"])
        for name, one in JOURNEYS.items()
        if name in reaching(3)
    )
    assert times == [720, 2400]
    console.open(funnel(shop, funnels={"funnelVizType": "time_to_convert"}))

    expect(sentence(console)).to_contain_text(
        "How long persons who did seen and then tried and then paid took from step 1 to step 3"
    )
    expect(result(console).get_by_role("figure")).to_have_accessible_name(
        "Time from 1. seen to 3. paid, on average 26 min"
    )
    counted = [
        (int(line["From (s)"]), int(line["To (s)"]), int(line["Persons"]))
        for line in csv_of(console)
    ]
    assert sum(count for *_, count in counted) == len(times)
    for begin, end, count in counted:
        assert count == sum(begin <= seconds < end for seconds in times)
    with console.keyboard_only():
        console.tab_to(chart(console))
        for place, (*_, count) in enumerate(counted):
            console.press("Home", *["ArrowRight"] * place)
            expect(chart(console)).to_have_attribute("aria-valuetext", re.compile(f": {count}$"))
    console.choose(console.page.get_by_role("combobox", name="to step"), "2")
    expect(sentence(console)).to_contain_text("took from step 1 to step 2")
    console.settle()
    assert sum(int(line["Persons"]) for line in csv_of(console)) == len(reaching(2))


def test_the_conversion_over_time_opens_who_converted_and_who_did_not(
    console: Console, shop: Project
) -> None:
    days = {
        name: f"{BEGAN + timedelta(minutes=dict(one.events)['seen']):%Y-%m-%d}"
        for name, one in JOURNEYS.items()
    }
    day = days["ann"]
    entered = {name for name in JOURNEYS if days[name] == day}
    converted = entered & reaching(3)
    console.open(funnel(shop, funnels={"funnelVizType": "trends"}))

    expect(sentence(console)).to_contain_text(
        "what share then did tried and then paid, within 14 days of the first, by the day of the "
        "first step"
    )
    lines = [line for line in csv_of(console) if int(line["Entered"]) > 0]
    assert sum(int(line["Entered"]) for line in lines) == len(JOURNEYS)
    line = next(line for line in lines if int(line["Converted"]) > 0)
    assert int(line["Entered"]) == len(entered)
    assert int(line["Converted"]) == len(converted)
    assert float(line["Converted (%)"]) == round(100 * len(converted) / len(entered), 2)
    table = console.page.get_by_role("region", name="Numbers of the funnel")
    row = table.get_by_role("row").filter(has=console.page.get_by_role("button")).last
    row.get_by_role("button").first.click()
    expect(drawer(console)).to_have_accessible_description(
        re.compile(f"^Entered .* and converted: {len(converted)}$")
    )
    expect_people(console, converted)
    console.press("Escape")
    row.get_by_role("button").last.click()
    expect(drawer(console)).to_have_accessible_description(
        re.compile(f"^Entered .* and did not convert: {len(entered - converted)}$")
    )
    expect_people(console, entered - converted)


def test_what_goes_with_converting_is_asked_when_it_is_opened(
    console: Console, shop: Project
) -> None:
    converted, dropped = reaching(3), reaching(1) - reaching(3)

    def odds(who: set[str]) -> str:
        success, failure = len(converted & who), len(dropped & who)
        left = (success + 1) * (len(dropped) - failure + 1)
        return f"{left / ((failure + 1) * (len(converted) - success + 1)):g}"

    asked: list[str] = []
    console.page.on("request", lambda request: asked.append(request.post_data or ""))
    console.open(funnel(shop))
    assert not any("FunnelCorrelationQuery" in body for body in asked)
    console.page.get_by_role("button", name="What goes with converting").click()
    helped = {name for name, one in JOURNEYS.items() if "helped" in dict(one.events)}
    row = result(console).get_by_role("row").filter(has_text="helped")
    expect(row.get_by_role("cell").last).to_have_text(f"× {odds(helped)}")
    row.get_by_role("button").first.click()
    expect_people(console, converted & helped)
    console.press("Escape")

    console.choose(
        console.page.get_by_role("combobox", name="What is compared"), "Properties of the person"
    )
    pro = {name for name, one in JOURNEYS.items() if one.plan == "pro"}
    row = result(console).get_by_role("row").filter(has_text="plan = pro")
    expect(row.get_by_role("cell").last).to_have_text(f"× {odds(pro)}")
    expect(row.get_by_role("button").first).to_have_text(str(len(converted & pro)))
    row.get_by_role("button").last.click()
    expect_people(console, dropped & pro)
    drawer(console).get_by_role("button", name="Save as cohort").click()
    dialog = console.page.get_by_role("dialog", name="Save as cohort")
    dialog.get_by_role("button", name="Save as cohort").click()
    expect(console.page.get_by_role("heading", level=1)).to_contain_text("plan = pro")
    shop.await_cohorts()
    assert [one["count"] for one in shop.get("/cohorts/")["results"]] == [len(dropped & pro)]


def test_a_funnel_of_groups_opens_its_groups(console: Console, shop: Project) -> None:
    console.open(funnel(shop))
    page = console.page
    console.choose(page.get_by_role("combobox", name="Counted"), "company groups")

    expect(sentence(console)).to_contain_text("Of the company groups who did seen")
    console.settle()
    assert [line["Groups"] for line in csv_of(console)] == ["2", "2", "2"]
    page.get_by_role("button", name="Reached 3. paid: 2").click()
    groups = drawer(console, "Groups").get_by_role("grid", name="Groups")
    expect(groups.get_by_role("row")).to_have_count(3)
    expect(drawer(console, "Groups").get_by_role("button", name="Save as cohort")).to_have_count(0)
    groups.get_by_role("link", name="FR Ltd").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("FR Ltd")


def test_what_cannot_be_asked_is_said_where_it_stands(console: Console, shop: Project) -> None:
    page = console.page
    console.open(funnel(shop, "seen"))
    expect(result(console)).to_contain_text("Choose at least two events")

    console.open(funnel(shop, funnels={"funnelWindowInterval": 0}))
    problem = page.get_by_role("status").get_by_role("listitem")
    expect(problem).to_contain_text(
        "funnelsFilter.funnelWindowInterval cannot be used: 0. Allowed: a whole number from 1"
    )
    window = page.get_by_role("textbox", name="Time for all steps")
    window.fill("0")
    expect(window).to_have_accessible_description("A whole number from 1 to 3,650.")
    expect(sentence(console)).to_contain_text("within 14 days")
    window.fill("3")
    expect(sentence(console)).to_contain_text("within 3 days of the first")

    console.watch.expect_status(400, "/query/")
    tried = HELPED | {"event": "tried"}
    console.open(funnel(shop, funnels={"exclusions": [tried]}))
    left_out = page.get_by_role("group", name="Leave out who did")
    expect(left_out.get_by_role("alert")).to_have_text(
        "An exclusion cannot be, or contain, one of the steps it spans."
    )
    expect(result(console)).to_contain_text("The question has an error, which stands beside")
    console.expect_accessible()
    left_out.get_by_role("combobox", name="Event left out 1").click()
    replace_text(console, "helped")
    page.get_by_role("option", name="helped", exact=True).click()
    expect(left_out.get_by_role("alert")).to_have_count(0)
    console.settle()
    assert int(csv_of(console)[0]["Persons"]) == len(at_level(1, without_help))


@pytest.fixture(params=["pointer", "keys"])
def device(request: pytest.FixtureRequest, console: Console) -> InputDevice:
    return Pointer(console) if request.param == "pointer" else Keyboard(console)


@contextmanager
def limited(device: InputDevice, clicks: int) -> Iterator[None]:
    console = device.console
    with console.clicks_at_most(clicks) if isinstance(device, Pointer) else console.keyboard_only():
        yield


def choose_next(device: InputDevice, text: str) -> None:
    """Type into the focused field and choose what it finds."""
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
        device.act(page.get_by_role("link", name="Funnel", exact=True))
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
