"""Work that is not saved survives interruptions.

These are the end of a session, a server that stops, and another user's change of the same flag.
"""

import pytest
from playwright.sync_api import Locator, expect

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

    with installation.stopped():
        save(console)
        notice = console.page.get_by_text("The server cannot be reached.").first
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
    open_flag(mine, project, flag)
    open_flag(theirs, project, flag)
    raise_share(mine, 40, condition=1)
    raise_share(theirs, 15, condition=2)
    for console in (mine, theirs):
        console.watch.expect_status(409, "/feature_flags/")

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
    mine.watch.expect_status(409, "/feature_flags/")
    save(theirs)
    expect(theirs.page.get_by_text("Saved beta", exact=True).first).to_be_visible()

    save(mine)
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
