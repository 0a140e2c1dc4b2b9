"""The weekly questions of a product manager, from Home, with the mouse and with only the keyboard.

The tests of funnels cover where people drop out of a purchase, and who they are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, expect

from tests.console import test_insights_paths as paths
from tests.console import test_insights_retention as retention
from tests.console.captured_days import CapturedDays
from tests.console.conftest import Visit
from tests.console.input_devices import InputDevice, Keyboard, Pointer
from tests.console.insight_page import chart, insight, numbers, sentence
from tests.console.installation import Installation
from tests.console.project import Json, Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

# Days ago → sign-ups by source. The first two are from the previous month.
SIGN_UPS = {45: {"news": 2}, 40: {"news": 1, "ads": 1}, 10: {"ads": 3}, 3: {"news": 1, "ads": 1}}
USERS = CapturedDays(
    {
        ("ann", "exported"): [6],
        ("ann", "viewed"): [6, 5, 3],
        ("bob", "exported"): [6],
        ("bob", "viewed"): [6, 5],
        ("cem", "exported"): [3],
        ("cem", "viewed"): [2],
        ("dee", "viewed"): [6, 5, 4],
    }
)


@pytest.fixture(params=["pointer", "keys"])
def device(request: pytest.FixtureRequest, console: Console) -> InputDevice:
    return Pointer(console) if request.param == "pointer" else Keyboard(console)


@contextmanager
def new_insight(device: InputDevice, project: Project, kind: str) -> Iterator[None]:
    """Open a new insight from Home, using only this input device."""
    console = device.console
    console.open(project.at())
    with console.clicks_at_most(12) if isinstance(device, Pointer) else console.keyboard_only():
        device.command(f"new insight {kind}", f"New insight: {kind}")
        expect(console.page.get_by_role("heading", level=1)).to_have_text("New insight")
        console.settle()
        yield
        console.settle()


def choose(device: InputDevice, field: Locator, option: str) -> None:
    device.type(field, option)
    device.console.page.locator("[role=option]", has_text=option).first.wait_for()
    device.console.press("Enter")


def choose_next(device: InputDevice, field: str, text: str, option: str = "") -> None:
    """Choose in a field that receives focus automatically."""
    page = device.console.page
    expect(page.get_by_role("combobox", name=field, exact=True)).to_be_focused()
    page.keyboard.type(text)
    page.locator("[role=option]", has_text=option or text).first.wait_for()
    device.console.press("Enter")


def sign_ups() -> Iterator[Json]:
    now = datetime.now(UTC)
    for ago, by_source in SIGN_UPS.items():
        for source, count in by_source.items():
            for number in range(count):
                yield {
                    "event": "signed up",
                    "distinct_id": f"{source}-{ago}-{number}",
                    "timestamp": (now - timedelta(days=ago)).isoformat(),
                    "properties": {"utm_source": source},
                }


def test_sign_ups_by_source_are_compared_with_the_month_before(
    device: InputDevice, project: Project
) -> None:
    project.capture(*sign_ups())
    page = device.console.page

    with new_insight(device, project, "Trends"):
        choose(device, page.get_by_role("combobox", name="Add series"), "signed up")
        device.act(page.get_by_role("button", name="Add breakdown"))
        choose_next(device, "Property", "utm_source", "UTM source")
        choose(device, page.get_by_role("combobox", name="Interval"), "by week")
        choose(device, page.get_by_role("combobox", name="Comparison"), "with a month earlier")
        expect(sentence(device.console)).to_contain_text("broken down by UTM source")
        expect(sentence(device.console)).to_contain_text("compared")

    device.console.press("t")
    header, *rows = table_of(device.console)
    sums = {
        name: sum(map(int, cells))
        for name, *cells in zip(header, *rows, strict=True)
        if name != header[0]
    }
    assert sums == {
        "ads": 4,
        "news": 1,
        "ads (1 month earlier)": 1,
        "news (1 month earlier)": 3,
    }


def table_of(console: Console) -> list[list[str]]:
    header = console.page.get_by_role("region", name="Numbers").get_by_role("columnheader")
    return [header.all_inner_texts(), *numbers(console)]


def test_whether_a_feature_brings_people_back_is_asked(
    device: InputDevice, project: Project
) -> None:
    USERS.capture(project)
    page = device.console.page

    with new_insight(device, project, "Retention"):
        choose(device, page.get_by_role("combobox", name="Add event"), "exported")
        device.act(page.get_by_role("button", name="Add returning event"))
        choose_next(device, "Add returning event", "viewed")
        expect(sentence(device.console)).to_contain_text(
            "How many persons did exported, per day, and how many of them did viewed"
        )

    returned = USERS.returned("exported", "viewed", days=31, most=8)
    assert [row for row in retention.numbers(device.console) if row[0] != "0"] == [
        [str(size), *(retention.percent(count, size) for count in counts)]
        for size, *counts in returned
        if size
    ]


def test_what_is_on_the_way_between_two_pages_is_asked(
    device: InputDevice, project: Project
) -> None:
    paths.capture(project, paths.VISITS)
    page, site = device.console.page, paths.SITE

    with new_insight(device, project, "Paths"):
        for field, address in (("Start at", f"{site}/"), ("End at", f"{site}/paid")):
            device.type(page.get_by_role("combobox", name=field), address)
            device.console.press("Enter")
        expect(sentence(device.console)).to_contain_text(f"from {site}/ to {site}/paid")

    between = [
        (who, path[steps.index("") : steps.index("/paid") + 1])
        for who, path in paths.paths(paths.VISITS)
        for steps in [[step for _, step in path]]
        if "" in steps and "/paid" in steps[steps.index("") :]
    ]
    assert between
    assert paths.csv_of(device.console) == paths.table_of(between)


def test_an_answer_is_sent_to_a_colleague(
    device: InputDevice, project: Project, visit: Visit, installation: Installation
) -> None:
    project.events("paid", "ann", "bob")
    viewer = installation.viewer
    console = device.console
    console.open(insight(project, series=[{"event": "paid", "math": "dau"}]))
    asked = sentence(console).inner_text()
    number = chart(console).get_attribute("aria-valuetext")

    colleague = visit(viewer)
    colleague.open(console.page.url.removeprefix(console.origin))

    expect(sentence(colleague)).to_have_text(asked)
    expect(chart(colleague)).to_have_attribute("aria-valuetext", number or "")
