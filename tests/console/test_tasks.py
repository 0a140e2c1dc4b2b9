"""Tasks of users from the home screen, with a limited number of clicks, and with only the keyboard.

Typing is not counted; a click that goes to a field is.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.console.bulk_rows import add_many_persons
from tests.console.input_devices import InputDevice, Keyboard, Pointer
from tests.console.installation import Installation
from tests.console.project import Project, has, when
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

PEOPLE = 200


@pytest.fixture(params=["pointer", "keys"])
def device(request: pytest.FixtureRequest, console: Console) -> InputDevice:
    return Pointer(console) if request.param == "pointer" else Keyboard(console)


@contextmanager
def from_home(device: InputDevice, project: Project, clicks: int) -> Iterator[None]:
    console = device.console
    console.open(project.at())
    with console.clicks_at_most(clicks) if isinstance(device, Pointer) else console.keyboard_only():
        yield


def go_to(device: InputDevice, screen: str) -> None:
    main = device.console.page.get_by_role("navigation", name="Main")
    device.act(main.get_by_role("link", name=screen, exact=True))
    expect(device.console.page.get_by_role("heading", level=1, name=screen)).to_be_visible()


def test_a_flag_is_switched_off_in_an_emergency(device: InputDevice, project: Project) -> None:
    flag = project.flag("burning")
    page = device.console.page

    with from_home(device, project, clicks=2):
        go_to(device, "Feature flags")
        device.act(page.get_by_role("switch", name="burning"))
        expect(page.get_by_text("Switched off burning", exact=True).first).to_be_visible()

    assert project.get(f"/feature_flags/{flag['id']}/")["active"] is False


def test_a_flag_is_switched_off_from_the_menu_without_a_click(
    console: Console, project: Project
) -> None:
    flag = project.flag("burning")
    project.flag("burnt", active=False)

    with from_home(Pointer(console), project, clicks=0), console.keyboard_only():
        Keyboard(console).command("switch off burn", "Switch off burning")
        said = console.page.get_by_text("Switched off burning", exact=True)
        expect(said.first).to_be_visible()

    assert project.get(f"/feature_flags/{flag['id']}/")["active"] is False


def test_a_flag_is_raised_and_who_changes_is_seen_before(
    device: InputDevice, project: Project
) -> None:
    flag = project.flag("gradual", when(rollout=10))
    add_many_persons(project, PEOPLE)
    page = device.console.page
    raised = flag["filters"] | {"groups": [when(rollout=50)]}
    changed = project.post("/feature_flags/preview_change/", id=flag["id"], filters=raised)
    count = changed["changed_persons"]

    with from_home(device, project, clicks=3):
        go_to(device, "Feature flags")
        device.open_row(page.get_by_role("row", name="gradual"))
        device.type(page.get_by_label("Rollout of condition 1", exact=True), "50")
        bar = page.get_by_role("region", name="Unsaved changes")
        expect(bar).to_contain_text(f"{count} people go from false to true")
        device.console.press("Control+s")
        expect(page.get_by_role("dialog")).to_contain_text("people go from false to true")
        device.console.press("Enter")
        expect(page.get_by_text("Saved gradual", exact=True).first).to_be_visible()

    [group] = project.get(f"/feature_flags/{flag['id']}/")["filters"]["groups"]
    assert group["rollout_percentage"] == 50


# It takes seconds: a real browser and a real server.
@pytest.mark.quick
def test_a_flag_for_people_on_a_plan_is_made(device: InputDevice, project: Project) -> None:
    project.persons(ann={"plan": "pro"}, bob={"plan": "free"})
    page = device.console.page

    with from_home(device, project, clicks=4):
        go_to(device, "Feature flags")
        device.act(page.get_by_role("link", name="New flag").first)
        device.type(page.get_by_label("What is it for?"), "Only for pro")
        device.act(page.get_by_role("button", name="Add property"))
        choose(device.console, "plan")
        device.console.press("Tab", "Tab")
        choose(device.console, "pro")
        expect(page.get_by_text("matches 1 of 2 people")).to_be_visible()
        device.act(page.get_by_role("button", name="Create and switch on"))
        expect(page.get_by_text("Created only-for-pro", exact=True).first).to_be_visible()

    [flag] = project.get("/feature_flags/")["results"]
    [group] = flag["filters"]["groups"]
    [condition] = group["properties"]
    assert flag["active"] is True
    assert condition["key"] == "plan"
    assert condition["value"] in ("pro", ["pro"])


def choose(console: Console, option: str) -> None:
    """Choose an option in the list of the field that has the focus."""
    console.page.keyboard.type(option)
    console.page.locator("[role=option]", has_text=option).first.wait_for()
    console.press("Enter")


def test_why_somebody_got_false_is_found(device: InputDevice, project: Project) -> None:
    project.persons(xenia={"plan": "free", "email": "xenia@corp.example"})
    project.flag("for-pro", when(has("plan", ["pro"])))
    page = device.console.page

    with from_home(device, project, clicks=2):
        device.command("why for-pro", "Why did someone get this value of for-pro?")
        device.type(page.get_by_label("Distinct id or e-mail address"), "xenia")
        answer = page.get_by_text("No condition matches.")
        expect(answer).to_be_visible()
        expect(page.get_by_text("free")).to_be_visible()


def test_a_person_is_found_by_address_with_the_last_session(
    device: InputDevice, project: Project
) -> None:
    project.persons(ann={"email": "ann@corp.example"}, bob={"email": "bob@corp.example"})
    project.events("looked around", "ann", **{"$session_id": "session-of-ann"})
    page = device.console.page

    with from_home(device, project, clicks=2):
        device.command("ann@corp", "ann@corp.example")
        expect(page.get_by_role("heading", level=1)).to_contain_text("ann@corp.example")
        expect(page.get_by_text("looked around").first).to_be_visible()
        expect(page.get_by_text("Session").first).to_be_visible()


def test_why_an_event_is_missing_is_found_and_it_is_sent_again(
    device: InputDevice, project: Project
) -> None:
    lost = {"event": "paid", "distinct_id": "ann", "uuid": "018d6c2e-0000-7000-8000-000000000001"}
    project.dead_letter(lost, error="ValueError: a date of year 0")
    page = device.console.page
    # The letter may be ingested between the list that names it and the request for its body.
    device.console.watch.expect_status(404, "/body/")

    with from_home(device, project, clicks=3):
        go_to(device, "Ingestion")
        device.type(
            page.get_by_label("The event's uuid, or the distinct id it was sent with"), "ann"
        )
        device.console.press("Enter")
        expect(page.get_by_text("and failed: ValueError").first).to_be_visible()
        device.act(page.get_by_role("button", name="Send again", exact=True))
        expect(page.get_by_text("No failed requests.")).to_be_visible()

    [stored] = project.get("/events/", event="paid")["results"]
    assert stored["distinct_id"] == "ann"


def test_a_colleague_is_invited_who_may_only_look(
    device: InputDevice, project: Project, installation: Installation
) -> None:
    page = device.console.page
    kind = type(device).__name__.lower()

    with from_home(device, project, clicks=3):
        device.command("invites", "Invites")
        device.act(page.get_by_role("button", name="Invite", exact=True).first)
        dialog = page.get_by_role("dialog", name="Invite colleagues")
        device.type(dialog.get_by_label("E-mail addresses"), f"looks-{kind}@example.com")
        device.console.press("Tab", "v", "Enter")
        expect(dialog.get_by_label("Level")).to_have_text("Viewer")
        device.console.press("Shift+Tab", "Control+Enter")
        expect(page.get_by_role("dialog", name="Invite link")).to_be_visible()

    with installation.client() as client:
        invites = client.get("/api/organizations/@current/invites/").json()["results"]
    levels = {invite["target_email"]: invite["level"] for invite in invites}
    assert levels[f"looks-{kind}@example.com"] == 0
