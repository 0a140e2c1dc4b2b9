"""Alerts in the console: made, drawn, seen to fire, changed, and told by webhooks and mails."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from fanion.config import PREFIX
from tests.console.browser import Chromium
from tests.console.captured_days import CapturedDays
from tests.console.conftest import Visit
from tests.console.insight_page import rows_of
from tests.console.installation import Installation, open_installation
from tests.console.project import Json, Project
from tests.console.screen import Console
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.receiver import ThreadedReceiver, threaded_receiver
from tests.support.server import free_port
from tests.support.smtp_server import MailServer, smtp_server

pytestmark = pytest.mark.long("drives Chromium")

HOSTILE = '<img src=x onerror="alert(1)">\u202eevil' + "x" * 200
# The number of payments on each day, counted back from today.
PAYMENTS = CapturedDays({("ann", "paid"): [0, 1, 1, 1, 2, 2], ("bob", "paid"): [1, 3]})
DAYS = 7


def insight(project: Project, name: str = "Payments", **query: object) -> Json:
    """Return a saved insight: payments per day of the last week."""
    asked = {
        "kind": "TrendsQuery",
        "series": [{"kind": "EventsNode", "event": "paid"}],
        "dateRange": {"date_from": f"-{DAYS - 1}d"},
        **query,
    }
    return project.post("/insights/", name=name, query=asked)


def alert(project: Project, insight_id: int, **fields: object) -> Json:
    """Return an alert once it has been checked."""
    given = {"name": "Many payments", "condition": "above", "threshold": 3, **fields}
    made = project.post("/alerts/", insight=insight_id, **given)
    until(lambda: state_of(project, made["id"]) != "not_checked", "the alert is not checked")
    return made


def state_of(project: Project, alert_id: int) -> str:
    state: str = project.get(f"/alerts/{alert_id}/")["state"]
    return state


def expected_payments() -> list[int]:
    """Return the payments of each day, oldest first, as captured."""
    days = [day for days in PAYMENTS.days_ago.values() for day in days]
    return [days.count(ago) for ago in range(DAYS - 1, -1, -1)]


def alerts_of(project: Project, insight_id: int) -> str:
    return project.at(f"insights/{insight_id}?tab=alerts")


def chart_table(console: Console) -> list[str]:
    """Return the numbers of the chart, which is shown as a table from now on."""
    console.press("t")
    table = console.page.get_by_role("table").first
    expect(table).to_be_visible()
    return [row.get_by_role("cell").last.inner_text() for row in table.get_by_role("row").all()[1:]]


def verdict(console: Console) -> Locator:
    return console.page.get_by_role("tabpanel", name="Alerts")


def test_an_alert_is_made_by_keys_and_draws_the_numbers_of_its_insight(
    console: Console, project: Project
) -> None:
    PAYMENTS.capture(project)
    made = insight(project)
    page = console.page
    console.open(project.at(f"insights/{made['id']}"))

    with console.keyboard_only():
        console.tab_to(page.get_by_role("tab", name="Question"))
        console.press("ArrowRight")
        expect(page.get_by_text("No alerts yet")).to_be_visible()
        console.settle()
        console.tab_to(page.get_by_role("button", name="New alert"))
        console.press("Enter")
        form = page.get_by_role("form", name="New alert")
        console.tab_to(form.get_by_role("textbox", name="Name"))
        console.press("Control+a")
        page.keyboard.type("Many payments")
        console.tab_to(form.get_by_role("textbox", name="Threshold"))
        page.keyboard.type("3")
        expect(form).to_contain_text("It would fire now: 4 is above 3.")
        expect(form).to_contain_text("Fires when paid per day is above 3")
        console.settle()
        console.press("Enter")
        console.expect_toast("Alert created")
        expect(page.get_by_text("Firing", exact=True).first).to_be_visible()
        console.settle()
        console.tab_to(page.get_by_role("slider"))
        drawn = chart_table(console)
    console.expect_accessible()

    [stored] = project.get("/alerts/", insight=made["id"])["results"]
    assert (stored["name"], stored["condition"], stored["threshold"]) == (
        "Many payments",
        "above",
        3,
    )
    [answer] = project.post("/query/", query=made["query"])["results"]
    assert [float(number) for number in drawn] == answer["data"] == expected_payments()
    assert stored["value"] == max(expected_payments()[-2:]) == 4
    expect(page.get_by_role("grid", name="History of checks")).to_contain_text("Firing")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="CSV").last.click()
    [head, *checks] = rows_of(downloading.value.path())
    assert head[1:3] == ["State", "Value"]
    assert [(state, value) for _, state, value, *_ in checks] == [("Firing", "4")]


def test_a_change_is_drawn_between_two_thresholds_and_saved(
    console: Console, project: Project
) -> None:
    PAYMENTS.capture(project)
    made = insight(project)
    shown = alert(project, made["id"], threshold=100)
    page = console.page
    console.open(f"{alerts_of(project, made['id'])}&alert={shown['id']}")

    expect(verdict(console)).to_contain_text("It would not fire now: 4 does not meet")
    page.get_by_role("button", name="Edit", exact=True).click()
    form = page.get_by_role("form", name="Edit alert")
    console.choose(form.get_by_role("combobox", name="Fires when"), "changes by at least")
    threshold = form.get_by_role("textbox", name="Threshold")
    console.watch.expect_status(400, "/alerts/preview/")
    threshold.fill("-1")
    expect(form.get_by_text("Ensure this value is greater than or equal to 0.")).to_be_visible()
    threshold.fill("many")
    expect(form.get_by_text("Enter a number.")).to_be_visible()
    threshold.fill("2")
    before, last = expected_payments()[-3:-1]
    expect(form).to_contain_text(f"It would fire now: {last} after {before}")
    expect(form).to_contain_text(f"Fires at or below: {before - 2}")
    expect(form).to_contain_text(f"Fires at or above: {before + 2}")
    console.expect_accessible()
    console.watch.expect_status(400, f"/alerts/{shown['id']}/")
    form.get_by_role("textbox", name="Name").fill("x" * 401)
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("Ensure this field has no more than 400 characters.")
    form.get_by_role("textbox", name="Name").fill("Payments change")
    form.get_by_role("button", name="Save").click()
    console.expect_toast("Alert saved")

    expect(page.get_by_role("heading", name="Payments change")).to_be_visible()
    until(lambda: state_of(project, shown["id"]) == "firing", "it does not fire")
    expect(page.get_by_role("heading", name="Payments change")).to_contain_text("Firing")
    page.get_by_role("switch").click()
    expect(page.get_by_role("heading", name="Payments change")).to_contain_text("Off")
    page.get_by_role("button", name="More actions").last.click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No alerts yet")).to_be_visible()
    assert project.get("/alerts/")["count"] == 0


def test_an_alert_is_snoozed_and_woken_and_its_threshold_is_drawn_with_the_question(
    console: Console, project: Project
) -> None:
    PAYMENTS.capture(project)
    made = insight(project)
    shown = alert(project, made["id"])
    alert(project, made["id"], name="Far away", threshold=1_000)
    page = console.page
    console.open(project.at(f"insights/{made['id']}"))
    expect(page.get_by_text("Alert “Many payments”, fires above: 3")).to_be_visible()
    expect(page.get_by_text("Far away")).to_have_count(0)
    console.expect_to_fit_in({"width": 360, "height": 640}, {"width": 1440, "height": 900})

    console.go(f"{alerts_of(project, made['id'])}&alert={shown['id']}")
    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Snooze"))
        console.press("Enter")
        page.get_by_role("menuitem", name="For a day").press("Enter")
    console.expect_toast("Many payments snoozed")
    expect(page.get_by_role("heading", name="Many payments")).to_contain_text("Snoozed")
    expect(page.get_by_text("Snoozed until")).to_be_visible()
    console.settle()
    console.expect_accessible()
    console.expect_to_fit_in({"width": 360, "height": 640}, {"width": 1440, "height": 900})
    assert project.get(f"/alerts/{shown['id']}/")["snoozed_until"] is not None

    page.get_by_role("button", name="End snooze").click()
    console.expect_toast("Many payments is no longer snoozed")
    expect(page.get_by_role("heading", name="Many payments")).to_contain_text("Firing")


def test_an_alert_watches_one_value_of_a_breakdown(console: Console, project: Project) -> None:
    for plan, people in (("pro", ("ann", "bob", "cem")), (HOSTILE, ("dan", "eve"))):
        project.events("paid", *people, plan=plan)
    made = insight(project, breakdownFilter={"breakdown": "plan", "breakdown_type": "event"})
    page = console.page
    console.open(f"{alerts_of(project, made['id'])}&alert=new")
    form = page.get_by_role("form", name="New alert")

    number = form.get_by_role("combobox", name="Number to watch")
    expect(number).to_contain_text("pro")
    console.choose(number, HOSTILE)
    form.get_by_role("textbox", name="Threshold").fill("1.5")
    expect(form).to_contain_text("It would fire now: 2 is above 1.5.")
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
    form.get_by_role("button", name="Save").click()
    console.expect_toast("Alert created")

    [stored] = project.get("/alerts/")["results"]
    assert stored["breakdown_value"] == HOSTILE


def test_alerts_of_hostile_names_fit_and_only_their_state_is_seen_at_home(
    console: Console, project: Project
) -> None:
    PAYMENTS.capture(project)
    made = insight(project, HOSTILE)
    firing = alert(project, made["id"], name=HOSTILE)
    alert(project, made["id"], name="Too few", condition="below", threshold=0)
    alert(project, made["id"], name="Broken", series_index=5)
    page = console.page

    console.open(project.at("insights?alerts=true"))
    rows = page.get_by_role("grid", name="Alerts").get_by_role("row")
    expect(rows).to_have_count(4)
    expect(rows.nth(1)).to_contain_text("Firing")
    expect(rows.nth(2)).to_contain_text("Error")
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
    with console.at_zoom(200):
        console.expect_to_fit()
    console.choose(page.get_by_role("combobox", name="State"), "Error")
    expect(rows).to_have_count(2)
    expect(page).to_have_url(re.compile("state=errored"))
    rows.nth(1).click()
    expect(verdict(console)).to_contain_text(
        "It could not be checked now: The result has 1 series."
    )

    console.go(f"{alerts_of(project, made['id'])}&alert={firing['id']}")
    expect(verdict(console)).to_contain_text("It would fire now: 4 is above 3.")
    console.expect_to_fit_in({"width": 360, "height": 640}, {"width": 1440, "height": 900})
    console.go(project.at())
    expect(page.get_by_role("link", name="The alert Broken cannot be checked")).to_be_visible()
    page.get_by_role("link", name=re.compile("is firing: 4")).click()
    expect(page).to_have_url(re.compile(rf"alert={firing['id']}"))


def test_viewers_see_alerts_without_controls(
    visit: Visit, installation: Installation, project: Project
) -> None:
    PAYMENTS.capture(project)
    made = insight(project)
    shown = alert(project, made["id"])
    console = visit(installation.viewer)
    page = console.page

    console.open(alerts_of(project, made["id"]))
    row = page.get_by_role("grid", name="Alerts").get_by_role("row").nth(1)
    expect(row).to_contain_text("Firing")
    expect(page.get_by_role("switch")).to_have_count(0)
    expect(page.get_by_role("button", name="New alert")).to_have_count(0)
    row.click()
    expect(verdict(console)).to_contain_text("It would fire now")
    expect(page).to_have_url(re.compile(rf"alert={shown['id']}"))
    expect(page.get_by_role("switch")).to_have_count(0)
    expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(0)


def test_an_insight_without_numbers_by_interval_says_why_it_has_no_alerts(
    console: Console, project: Project
) -> None:
    query = {"kind": "RetentionQuery", "retentionFilter": {}}
    made = project.post("/insights/", name="Who came back", query=query)
    console.watch.expect_status(400, "/alerts/preview/")
    console.open(f"{alerts_of(project, made['id'])}&alert=new")

    form = console.page.get_by_role("form", name="New alert")
    expect(form).to_contain_text("An alert needs an insight with numbers by interval")
    expect(form.get_by_role("button", name="Save")).to_be_disabled()


@dataclass(frozen=True)
class Telling:
    """A server that sends mails and calls webhooks on this machine, and the page of its owner."""

    project: Project
    mails: MailServer
    receiver: ThreadedReceiver
    console: Console


@pytest.fixture
def telling(
    built_console: None, chromium_browser: Browser, chromium: Chromium, tmp_path: Path
) -> Iterator[Telling]:
    with ExitStack() as stack:
        mails, port = stack.enter_context(smtp_server()), free_port()
        receiver = stack.enter_context(threaded_receiver())
        settings = {
            f"{PREFIX}SMTP_URL": f"smtp+plain://127.0.0.1:{mails.port}",
            f"{PREFIX}MAIL_FROM": "fanion@example.com",
            f"{PREFIX}PUBLIC_URL": f"http://127.0.0.1:{port}",
            f"{PREFIX}WEBHOOKS_ALLOW_PRIVATE": "true",
        }
        server = PreloadedServer(tmp_path / "data", settings, port)
        installation = stack.enter_context(open_installation(tmp_path, server))
        session = installation.cookie(installation.owner)
        console = stack.enter_context(chromium.console(server.url, session))
        yield Telling(installation.project(), mails, receiver, console)
        console.watch.assert_clean()


def test_an_alert_made_in_the_console_reaches_a_webhook_and_a_mailbox(telling: Telling) -> None:
    """This takes its own server, with a mail server and a receiver."""
    console, project, page = telling.console, telling.project, telling.console.page
    PAYMENTS.capture(project)
    made = insight(project)
    hook = project.post("/webhooks/", url=telling.receiver.url("/in"), events=["insight.alert"])

    console.open(f"{alerts_of(project, made['id'])}&alert=new")
    form = page.get_by_role("form", name="New alert")
    expect(form).to_contain_text("1 webhook is called")
    expect(form).not_to_contain_text("no mail server")
    form.get_by_role("textbox", name="Threshold").fill("3")
    form.get_by_role("combobox", name="Send a mail to").click()
    page.get_by_role("option").first.click()
    page.keyboard.press("Escape")
    form.get_by_role("button", name="Save").click()
    console.expect_toast("Alert created")

    [request] = telling.receiver.received(1)
    [mail] = telling.mails.received()
    history = page.get_by_role("grid", name="History of checks")
    expect(history.get_by_role("row").nth(1)).to_contain_text("1 webhook, 1 mail")
    [stored] = project.get("/alerts/")["results"]
    assert request.is_signed_with(hook["secret"])
    told = request.json()["data"]
    assert (told["alert_id"], told["state"], told["value"]) == (stored["id"], "firing", 4)
    assert mail.message["Subject"] == "Alert firing: Payments"
    link = re.search(r"http\S+", mail.text)
    assert link is not None
    console.go(link[0].removeprefix(project.server.url))
    expect(page.get_by_role("grid", name="Alerts")).to_contain_text("Payments")
