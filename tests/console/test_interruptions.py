"""Work that is not saved survives interruptions.

These are the end of a session, a server that stops, and another user's change of the same flag.
"""

import pytest
from playwright.sync_api import Locator, Request, Route, expect

from fanion.accounts.sessions.cookies import PLAIN_NAME
from tests.console.conftest import Visit
from tests.console.installation import PASSWORD, Account, Installation
from tests.console.project import Json, Project, has, when
from tests.console.screen import Console
from tests.support import plain_http
from tests.support.management import CONSOLE

pytestmark = pytest.mark.long("drives Chromium")


def end_sessions(installation: Installation, account: Account) -> None:
    """End all sessions, as by "Sign out everywhere else" in another browser."""
    cookie = {PLAIN_NAME: installation.cookie(account)}
    url = installation.server.url
    with plain_http.Client(base_url=url, cookies=cookie, headers=CONSOLE, timeout=30) as client:
        assert client.delete("/api/sessions/").is_success


def open_flag(console: Console, project: Project, flag: Json) -> None:
    console.open(project.at(f"flags/{flag['id']}"))


def raise_share(console: Console, percent: int, condition: int = 1) -> None:
    field = console.page.get_by_label(f"Rollout of condition {condition}", exact=True)
    field.fill(str(percent))
    expect(console.page.get_by_role("region", name="Unsaved changes")).to_be_visible()


def open_save(console: Console) -> Locator:
    console.press("Control+s")
    dialog = console.page.get_by_role("dialog", name="Save changes")
    expect(dialog.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    return dialog


def save(console: Console) -> None:
    open_save(console).get_by_role("button", name="Save", exact=True).click()


def shares(project: Project, flag: Json) -> list[float]:
    groups = project.get(f"/feature_flags/{flag['id']}/")["filters"]["groups"]
    return [group["rollout_percentage"] for group in groups]


def test_after_a_session_has_ended_the_same_save_goes_on(
    visit: Visit, project: Project, installation: Installation
) -> None:
    flag, account = project.flag("beta", when(rollout=10)), installation.member("Sid")
    console = visit(account, anew=True)
    open_flag(console, project, flag)
    raise_share(console, 40)
    open_save(console)
    end_sessions(installation, account)
    console.watch.expect_status(401, "/api/")

    # A request of the screen itself may already have opened the other dialog above this one.
    console.page.locator("button[type=submit][data-confirms]").dispatch_event("click")
    again = console.page.get_by_role("dialog", name="Your session has ended")
    again.get_by_label("Password").fill(PASSWORD)
    console.expect_accessible()
    console.press("Enter")

    expect(console.page.get_by_text("Saved beta", exact=True).first).to_be_visible()
    assert console.page.url.endswith(project.at(f"flags/{flag['id']}"))
    assert shares(project, flag) == [40]


def test_after_a_sign_in_the_screen_is_where_it_was(
    visit: Visit, project: Project, installation: Installation
) -> None:
    """The screen has its tab and its draft, even if the page was loaded again meanwhile."""
    flag, account = project.flag("beta", when(rollout=10)), installation.member("Sid")
    console = visit(account, anew=True)
    open_flag(console, project, flag)
    raise_share(console, 40)
    url = console.page.url
    end_sessions(installation, account)
    console.watch.expect_status(401, "/api/")

    console.page.reload()
    console.page.get_by_label("E-mail address").fill(account.email)
    console.page.get_by_label("Password").fill(PASSWORD)
    console.press("Enter")

    expect(console.page.get_by_role("region", name="Unsaved changes")).to_be_visible()
    assert console.page.url == url
    field = console.page.get_by_label("Rollout of condition 1", exact=True)
    expect(field).to_have_value("40")


def test_a_server_that_stops_in_a_save_costs_nothing(
    console: Console, project: Project, installation: Installation
) -> None:
    flag = project.flag("beta", when(rollout=10))
    open_flag(console, project, flag)
    raise_share(console, 40)
    console.watch.expect_lost_requests()
    console.watch.expect_status(503, "/_preflight/")
    console.watch.expect_status(503, "/preview_change/")  # its process begins with the server

    with installation.stopped():
        save(console)
        notice = console.page.get_by_text("The server has not answered since").first
        expect(notice).to_be_visible()
    console.page.reload()

    kept = console.page.get_by_role("region", name="Unsaved changes")
    expect(kept).to_be_visible()
    assert shares(project, flag) == [10]
    save(console)
    expect(console.page.get_by_text("Saved beta", exact=True).first).to_be_visible()
    assert shares(project, flag) == [40]


def test_two_changes_of_one_flag_that_do_not_collide_are_both_kept(
    visit: Visit, project: Project, installation: Installation
) -> None:
    flag = project.flag("beta", when(has("plan", ["pro"]), rollout=10), when(rollout=5))
    mine, theirs = visit(installation.owner), visit(installation.member("Tim"))
    # By the stream of changes the other one could arrive before the save, or while it is sent.
    mine.page.route("**/feature_flags/changes/stream/", lambda _: None)
    open_flag(mine, project, flag)
    open_flag(theirs, project, flag)
    raise_share(mine, 40, condition=1)
    raise_share(theirs, 15, condition=2)
    mine.watch.expect_status(409, "/feature_flags/")

    save(theirs)
    expect(theirs.page.get_by_text("Saved beta", exact=True).first).to_be_visible()
    expect(theirs.page.get_by_text("Version 2")).to_be_visible()
    save(mine)
    dialog = mine.page.get_by_role("dialog", name="Save changes")
    expect(dialog).to_contain_text("Changes that do not conflict were merged.")
    assert shares(project, flag) == [10, 15]
    dialog.get_by_role("button", name="Save", exact=True).click()

    expect(mine.page.get_by_text("Saved beta", exact=True).first).to_be_visible()
    expect(mine.page.get_by_text("Version 3")).to_be_visible()
    assert shares(project, flag) == [40, 15]


def test_of_two_changes_that_collide_one_is_chosen_side_by_side(
    visit: Visit, project: Project, installation: Installation
) -> None:
    flag = project.flag("beta", when(rollout=10))
    mine, theirs = visit(installation.owner), visit(installation.member("Tim"))
    open_flag(mine, project, flag)
    open_flag(theirs, project, flag)
    raise_share(mine, 40)
    raise_share(theirs, 15)
    save(theirs)
    expect(theirs.page.get_by_text("Saved beta", exact=True).first).to_be_visible()

    mine.page.get_by_role("button", name="Compare").click()
    dialog = mine.page.get_by_role("dialog", name="Conflicting changes")
    expect(dialog).to_contain_text("40%")
    expect(dialog).to_contain_text("15%")
    mine.expect_accessible()
    assert shares(project, flag) == [15]
    dialog.get_by_role("radio", name="Keep yours").first.check()
    dialog.get_by_role("button", name="Merge").click()
    save(mine)

    expect(mine.page.get_by_text("Saved beta", exact=True).first).to_be_visible()
    assert shares(project, flag) == [40]


def test_offline_a_screen_that_was_not_loaded_says_so_and_comes_with_the_connection(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at("cohorts"))
    console.watch.expect_lost_requests()
    forget_loaded_parts(console)

    console.context.set_offline(True)
    expect(page.get_by_text("You've been offline since")).to_be_visible()
    page.get_by_role("link", name="Groups").click()

    expect(page.get_by_role("heading", name="This screen could not be loaded")).to_be_visible()
    expect(page.get_by_role("link", name="Feature flags")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="This screen could not be loaded")).to_be_visible()
    console.expect_accessible()
    console.context.set_offline(False)

    expect(page.get_by_role("heading", name="Groups", level=1)).to_be_visible()
    expect(page.get_by_text("You've been offline since")).to_have_count(0)


def test_offline_the_part_of_a_screen_and_a_dialog_say_that_they_are_missing(
    console: Console, project: Project
) -> None:
    flag, page = project.flag("beta"), console.page
    open_flag(console, project, flag)
    console.watch.expect_lost_requests()
    forget_loaded_parts(console)

    console.context.set_offline(True)
    page.get_by_role("tab", name="Access").click()
    expect(page.get_by_role("alert").filter(has_text="could not be loaded")).to_be_visible()
    console.press("?")
    console.expect_toast("The server cannot be reached.")
    console.context.set_offline(False)

    expect(page.get_by_text("Who can edit this flag")).to_be_visible()


def test_an_upgraded_server_loads_the_page_again_with_its_draft(
    console: Console, project: Project
) -> None:
    """A part with a former name is gone from the server, whose page names another script."""
    flag, page = project.flag("beta", when(rollout=10)), console.page
    open_flag(console, project, flag)
    raise_share(console, 40)
    forget_loaded_parts(console)
    console.watch.expect_status(404, "/assets/")
    page.evaluate(
        """() => { document.querySelector('script[type=module][src]').src = '/former-0000.js' }"""
    )
    loads: list[Request] = []
    page.on("request", lambda sent: loads.append(sent) if sent.is_navigation_request() else None)
    page.route(
        "**/assets/PersonsPage-*",
        lambda route: route.continue_() if loads else route.fulfill(status=404),
    )

    page.get_by_role("link", name="Persons", exact=True).click()

    expect(page.get_by_role("heading", name="Persons", level=1)).to_be_visible()
    assert len(loads) == 1
    open_flag(console, project, flag)
    expect(page.get_by_role("region", name="Unsaved changes")).to_be_visible()


def test_a_save_whose_answer_is_lost_is_read_again_and_was_made(
    console: Console, project: Project
) -> None:
    flag, page = project.flag("beta", when(rollout=10)), console.page
    open_flag(console, project, flag)
    raise_share(console, 40)
    console.watch.expect_lost_requests()
    page.route("**/feature_flags/*/", lose_answer_of_patch)

    save(console)

    expect(page.get_by_text("Saved beta", exact=True).first).to_be_visible()
    expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)
    assert shares(project, flag) == [40]


def test_a_save_that_never_arrived_is_said_to_be_not_made(
    console: Console, project: Project
) -> None:
    flag, page = project.flag("beta", when(rollout=10)), console.page
    open_flag(console, project, flag)
    raise_share(console, 40)
    console.watch.expect_lost_requests()
    page.route("**/feature_flags/*/", lose_patch)

    save(console)

    dialog = page.get_by_role("dialog", name="Save changes")
    expect(dialog).to_contain_text("The connection was lost before this was saved. Try again.")
    page.unroute_all()
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved beta", exact=True).first).to_be_visible()
    assert shares(project, flag) == [40]


def test_a_switch_whose_answer_is_lost_shows_what_the_server_has(
    console: Console, project: Project
) -> None:
    flag, page = project.flag("beta"), console.page
    console.open(project.at("flags"))
    console.watch.expect_lost_requests()
    switch = page.get_by_role("switch", name="Switch beta")

    page.route("**/feature_flags/*/", lose_answer_of_patch)
    switch.click()
    console.expect_toast("Switched off beta")
    expect(switch).not_to_be_checked()
    page.unroute_all()
    page.route("**/feature_flags/*/", lose_patch)
    switch.click()
    console.expect_toast("The connection was lost before this was saved.")
    expect(switch).not_to_be_checked()

    assert project.get(f"/feature_flags/{flag['id']}/")["active"] is False


def test_what_is_typed_outlasts_a_session_and_a_sign_in_that_is_put_off(
    visit: Visit, project: Project, installation: Installation
) -> None:
    account = installation.member("Tess")
    console = visit(account, anew=True)
    page = console.page
    console.open(project.at("cohorts/new"))
    name = page.get_by_label("Name", exact=True)
    name.fill("People who pay")
    page.get_by_role("radio", name="Static A list").check()
    end_sessions(installation, account)
    console.watch.expect_status(401, "/api/")

    page.get_by_role("button", name="Create cohort").click()
    dialog = page.get_by_role("dialog", name="Your session has ended")
    dialog.get_by_role("button", name="Close").click()
    expect(name).to_have_value("People who pay")
    page.get_by_role("button", name="Create cohort").click()
    dialog.get_by_label("Password").fill(PASSWORD)
    console.press("Enter")

    expect(page.get_by_role("heading", level=1, name="People who pay")).to_be_visible()


def test_on_a_slow_connection_nothing_is_said_or_sent_too_early_or_twice(
    console: Console, project: Project
) -> None:
    flag, page = project.flag("beta", when(rollout=10)), console.page
    console.open(project.at("flags"))
    slow_down(console)

    page.get_by_role("switch", name="Switch beta").click()
    console.expect_toast("Switched off beta")
    assert project.get(f"/feature_flags/{flag['id']}/")["active"] is False
    page.get_by_role("grid").get_by_role("link", name="beta").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("beta")
    raise_share(console, 40)
    open_save(console)
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    saving = page.get_by_role("dialog", name="Save changes").locator("[data-confirms]")
    expect(saving).to_be_disabled()
    expect(page.get_by_text("Saved beta", exact=True)).to_have_count(0)

    expect(page.get_by_text("Saved beta", exact=True).first).to_be_visible()
    assert shares(project, flag) == [40]
    saves = console.watch.count(
        lambda request: request.method == "PATCH" and request.url.endswith(f"/{flag['id']}/")
    )
    assert saves == 2  # the switch, and the share


def test_offline_nothing_is_sent_later(console: Console, project: Project) -> None:
    flag, page = project.flag("beta"), console.page
    console.open(project.at("flags"))
    console.watch.expect_lost_requests()
    console.context.set_offline(True)

    page.get_by_role("switch", name="Switch beta").click()

    console.expect_toast("You are offline, so nothing was changed.")
    expect(page.get_by_role("switch", name="Switch beta")).to_be_checked()
    console.context.set_offline(False)
    console.expect_toast("Connected again")
    console.settle()
    assert project.get(f"/feature_flags/{flag['id']}/")["active"] is True


def slow_down(console: Console) -> None:
    """Give the page the connection of a phone far from any city."""
    session = console.context.new_cdp_session(console.page)
    slow_3g = {"offline": False, "latency": 2000, "downloadThroughput": 50_000}
    session.send("Network.emulateNetworkConditions", {**slow_3g, "uploadThroughput": 50_000})


def forget_loaded_parts(console: Console) -> None:
    """Make the browser load parts of the console from the server again, as a new one would."""
    session = console.context.new_cdp_session(console.page)
    session.send("Network.clearBrowserCache")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    console.page.reload()
    console.settle()


def lose_answer_of_patch(route: Route) -> None:
    """Let a PATCH reach the server, and break the connection before its answer."""
    if route.request.method != "PATCH":
        return route.continue_()
    route.fetch()
    return route.abort("connectionreset")


def lose_patch(route: Route) -> None:
    """Break the connection before a PATCH reaches the server."""
    if route.request.method != "PATCH":
        return route.continue_()
    return route.abort("connectionreset")
