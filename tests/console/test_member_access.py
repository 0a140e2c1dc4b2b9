"""The access of members to flags: the default of the organization, and their roles."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from fanion.accounts.sessions.cookies import PLAIN_NAME
from tests.console.conftest import Visit
from tests.console.installation import Account, Installation
from tests.console.project import Json, Project
from tests.console.screen import Console
from tests.support import plain_http
from tests.support.management import CONSOLE

pytestmark = pytest.mark.long("drives Chromium")

ORGANIZATION = "/api/organizations/@current"
READ_ONLY = "You have read-only access to this flag. See “Access” for who can edit it."
CAN_VIEW, CAN_EDIT = 21, 37


@pytest.fixture
def restored(installation: Installation) -> Iterator[None]:
    """Let all members edit all flags again after the test, since all tests share them."""
    yield
    with installation.client() as client:
        path = f"{ORGANIZATION}/resource_access/"
        for setting in client.get(path).json()["results"]:
            assert client.delete(f"{path}{setting['id']}/").is_success


def change_flag(installation: Installation, account: Account, project: Project, flag: Json) -> Any:
    """Change a flag with the session of a user, and return status and detail of the response."""
    cookies = {PLAIN_NAME: installation.cookie(account)}
    url = installation.server.url
    with plain_http.Client(base_url=url, cookies=cookies, headers=CONSOLE, timeout=30) as client:
        path = f"/api/projects/{project.id}/feature_flags/{flag['id']}/"
        answer = client.patch(path, json={"name": "changed"})
    return answer.status_code, answer.json().get("detail")


def make_role(installation: Installation, account: Account) -> str:
    """Create a role that views flags, with one member, and return its path."""
    with installation.client() as client:
        sent = {"name": f"Role of {account.email}", "feature_flags_access_level": CAN_VIEW}
        role = client.post(f"{ORGANIZATION}/roles/", json=sent).json()
        path = f"{ORGANIZATION}/roles/{role['id']}/"
        users = client.get(f"{ORGANIZATION}/members/?limit=1000").json()["results"]
        [user] = [member["user"] for member in users if member["user"]["email"] == account.email]
        added = client.post(f"{path}role_memberships/", json={"user_uuid": user["uuid"]})
        assert added.is_success, added.text
    return path


def let_role(installation: Installation, path: str, level: int) -> None:
    with installation.client() as client:
        assert client.patch(path, json={"feature_flags_access_level": level}).is_success


def switch(console: Console, key: str) -> Locator:
    return console.page.get_by_role("switch", name=f"Switch {key}", exact=True)


def expect_read_only(console: Console, project: Project, flag: Json) -> None:
    page = console.page
    console.open(project.at("flags"))
    expect(switch(console, flag["key"])).to_be_disabled()
    switch(console, flag["key"]).locator("xpath=..").hover()
    expect(page.get_by_role("tooltip")).to_contain_text(READ_ONLY)
    console.open(project.at(f"flags/{flag['id']}"))
    expect(page.get_by_text(READ_ONLY).first).to_be_visible()
    expect(page.get_by_role("switch", name=flag["key"])).to_be_disabled()
    expect(page.get_by_label("Rollout of condition 1", exact=True)).to_be_disabled()


def expect_editable(console: Console, project: Project, flag: Json) -> None:
    console.open(project.at("flags"))
    expect(switch(console, flag["key"])).to_be_enabled()
    console.open(project.at(f"flags/{flag['id']}"))
    expect(console.page.get_by_label("Rollout of condition 1", exact=True)).to_be_enabled()
    expect(console.page.get_by_text(READ_ONLY)).to_have_count(0)


@pytest.mark.usefixtures("restored")
def test_members_edit_what_the_default_and_their_roles_let_them(
    console: Console, visit: Visit, installation: Installation, project: Project
) -> None:
    flag, account = project.flag("beta"), installation.member("Rob")
    member = visit(account)
    expect_editable(member, project, flag)

    console.open("/organization?tab=roles")
    default = console.page.get_by_role("switch", name="All members can edit all flags")
    expect(default).to_be_checked()
    expect(console.page.get_by_text("roles currently add nothing")).to_be_visible()
    default.click()
    console.page.get_by_role("button", name="Undo").click()
    expect(default).to_be_checked()
    expect(default).to_be_enabled()
    default.click()
    console.expect_toast("Members can now edit only their own flags")
    expect(console.page.get_by_text("roles currently add nothing")).to_have_count(0)
    console.expect_accessible()
    expect_read_only(member, project, flag)
    refused = (403, "You don't have edit permissions for this feature flag.")
    assert change_flag(installation, account, project, flag) == refused

    role = make_role(installation, account)
    expect_read_only(member, project, flag)
    assert change_flag(installation, account, project, flag) == refused
    let_role(installation, role, CAN_EDIT)
    expect_editable(member, project, flag)
    assert change_flag(installation, account, project, flag) == (200, None)
    let_role(installation, role, CAN_VIEW)
    member.open(project.at("flags/new"))
    member.page.get_by_label("Key", exact=True).fill("own")
    member.page.get_by_role("button", name="Create and switch on").click()
    member.page.get_by_role("switch", name="own").click()
    member.expect_toast("Switched off own")

    default.click()
    console.expect_toast("All members can now edit all flags")
    expect_editable(member, project, flag)


def test_only_administrators_change_the_default(visit: Visit, installation: Installation) -> None:
    console = visit(installation.viewer)
    console.open("/organization?tab=roles")

    expect(console.page.get_by_role("switch")).to_be_disabled()
    expect(console.page.get_by_text("Only administrators and owners").first).to_be_visible()
