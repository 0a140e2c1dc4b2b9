"""The commands `fanion users` and `fanion roles`, as an operator runs them."""

import asyncio

import pytest
from msgspec import json
from pyotp import TOTP

from fanion.accounts.links_store import LinkStore
from fanion.accounts.model import Purpose
from fanion.accounts.second_factor.codes import totp_secret
from fanion.accounts.second_factor.store import SecondFactorStore
from fanion.accounts.users_store import AccountStore
from fanion.db.engine import open_records
from fanion.projects.auth.keys import hash_key
from fanion.projects.auth.model import Principal
from fanion.projects.auth.personal_keys_store import PersonalKeyStore
from fanion.projects.model import Level
from fanion.runtime.clock import utc_now
from tests.cli.test_keys import activity_entries, run_for_json
from tests.cli.test_transfer import Fanion, expect_refused
from tests.cli.test_transfer import fanion as fanion  # the fixture

OWNER = "admin@fanion.local"
ADA = "ada@example.com"


def listed_users(fanion: Fanion) -> dict[str, tuple[str, bool, int]]:
    """Return level, activity and number of keys, by address."""
    users = run_for_json(fanion, "users", "list")
    return {user["email"]: (user["level"], user["active"], user["keys"]) for user in users}


def run_for_text(fanion: Fanion, *arguments: str) -> str:
    result = fanion(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def principal_of(records_url: str, key: str) -> Principal | None:
    async def read() -> Principal | None:
        records = await open_records(records_url)
        try:
            return (await PersonalKeyStore(records).principals([hash_key(key)])).get(hash_key(key))
        finally:
            await records.close()

    return asyncio.run(read())


@pytest.mark.every_engine
def test_a_second_person_needs_no_sql(fanion: Fanion, records_url: str) -> None:
    added = run_for_json(fanion, "users", "add", "Ada@Example.com", "--level", "admin")

    principal = principal_of(records_url, added["personal_api_key"])
    assert principal is not None
    assert list(principal.levels.values()) == [8]
    assert (principal.user.id, str(principal.key_id)) == (added["id"], added["key_id"])
    assert (principal.user.email, principal.user.first_name) == (ADA, "Ada")
    assert listed_users(fanion) == {OWNER: ("owner", True, 1), ADA: ("admin", True, 1)}
    keys = {key["email"]: key["label"] for key in run_for_json(fanion, "keys", "list")}
    assert keys[ADA] == "Command line"


def test_a_viewer_is_added_with_a_key(fanion: Fanion, records_url: str) -> None:
    added = run_for_json(fanion, "users", "add", ADA, "--level", "viewer")

    principal = principal_of(records_url, added["personal_api_key"])
    assert principal is not None
    assert list(principal.levels.values()) == [Level.VIEWER]
    assert listed_users(fanion)[ADA] == ("viewer", True, 1)
    assert (
        run_for_text(fanion, "users", "set-level", ADA, "member")
        == f"{ADA} has the level member.\n"
    )
    assert (
        run_for_text(fanion, "users", "set-level", ADA, "viewer")
        == f"{ADA} has the level viewer.\n"
    )


@pytest.mark.every_engine
def test_levels_are_set_and_users_disabled_and_removed(fanion: Fanion, records_url: str) -> None:
    key = run_for_json(fanion, "users", "add", ADA, "--name", "Ada")["personal_api_key"]

    assert (
        run_for_text(fanion, "users", "set-level", ADA, "owner") == f"{ADA} has the level owner.\n"
    )
    assert run_for_text(fanion, "users", "disable", OWNER) == f"{OWNER} is disabled.\n"
    assert listed_users(fanion) == {OWNER: ("owner", False, 1), ADA: ("owner", True, 1)}
    expect_refused(
        fanion("users", "disable", ADA),
        f"{ADA} is the last active owner. Make another member an owner first.",
    )
    assert run_for_text(fanion, "users", "enable", OWNER) == f"{OWNER} is active.\n"
    assert run_for_text(fanion, "users", "remove", ADA.upper()) == "Removed.\n"
    assert listed_users(fanion) == {OWNER: ("owner", True, 1)}
    assert principal_of(records_url, key) is None
    expect_refused(
        fanion("keys", "create", "--email", ADA),
        f"There is no active user {ADA}; `fanion users list` shows them.",
    )
    assert [entry[0] for entry in activity_entries(records_url, "OrganizationMembership")] == [
        "created",
        "updated",
        "updated",
        "updated",
        "deleted",
    ]


def test_a_key_of_a_new_user_may_expire_and_has_a_label(fanion: Fanion) -> None:
    added = run_for_json(
        fanion, "users", "add", ADA, "--label", "CI", "--expires", "2031-05-04 08:00"
    )

    [key] = [row for row in run_for_json(fanion, "keys", "list") if row["email"] == ADA]
    assert (key["id"], key["label"], key["expires_at"]) == (
        added["key_id"],
        "CI",
        "2031-05-04T08:00:00+00:00",
    )


@pytest.mark.every_engine
def test_a_link_for_a_new_password_is_printed_and_recorded(
    fanion: Fanion, records_url: str
) -> None:
    fanion("users", "add", ADA)
    env = {"FANION_PUBLIC_URL": "https://fanion.example.com/app/"}

    reset = json.decode(fanion("users", "reset", "ADA@example.com", "--json", env=env).stdout)

    address, _, token = reset["link"].rpartition("/reset/")
    assert (reset["email"], address) == (ADA, "https://fanion.example.com/app/api")
    assert user_of(records_url, token.removesuffix("/")) == ADA
    assert [entry[0] for entry in activity_entries(records_url, "User")] == [
        "password_reset_requested"
    ]
    assert listed_users(fanion)[ADA] == ("member", True, 1)


def user_of(records_url: str, token: str) -> str | None:
    """Return the address of the user whose link it is."""

    async def read() -> str | None:
        records = await open_records(records_url)
        try:
            user_id = await LinkStore(records).find_user(token, Purpose.RESET, utc_now())
            account = None if user_id is None else await AccountStore(records).by_id(user_id)
            return None if account is None else account.email
        finally:
            await records.close()

    return asyncio.run(read())


def test_a_disabled_user_gets_no_link(fanion: Fanion, records_url: str) -> None:
    fanion("users", "add", ADA)
    fanion("users", "disable", ADA)

    expect_refused(
        fanion("users", "reset", ADA), f"{ADA} is disabled; use `fanion users enable` first."
    )

    assert activity_entries(records_url, "User") == []


REFUSALS: list[tuple[list[str], str]] = [
    (["add", "ada"], "the address: 'ada' is not an e-mail address, such as ada@example.com."),
    (["add", OWNER], "There is already a user with this e-mail address."),
    (
        ["add", ADA, "--level", "boss"],
        "--level: 'boss' is not a level; use viewer, member, admin or owner.",
    ),
    (["add", ADA, "--name", ""], "--name: the name must have 1 to 150 characters."),
    (["add", ADA, "--label", "x" * 41], "--label: a label has 1 to 40 characters."),
    (["add", ADA, "--expires", "2001-01-01"], "--expires: Ensure this time is in the future."),
    (
        ["set-level", OWNER, "1"],
        "the level: '1' is not a level; use viewer, member, admin or owner.",
    ),
    (
        ["set-level", OWNER, "admin"],
        f"{OWNER} is the last active owner. Make another member an owner first.",
    ),
    (
        ["remove", OWNER],
        f"{OWNER} is the last active owner. Make another member an owner first.",
    ),
    (["disable", ADA], f"There is no user {ADA}; `fanion users list` shows them."),
    (["enable", "a\x1b"], "There is no user a\ufffd; `fanion users list` shows them."),
    (["reset", ADA], f"There is no user {ADA}; `fanion users list` shows them."),
    (["remove", ADA], f"There is no user {ADA}; `fanion users list` shows them."),
    (["set-level", ADA, "owner"], f"There is no user {ADA}; `fanion users list` shows them."),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSALS)
def test_what_cannot_be_is_refused(fanion: Fanion, arguments: list[str], said: str) -> None:
    expect_refused(fanion("users", *arguments), said)

    assert listed_users(fanion) == {OWNER: ("owner", True, 1)}


@pytest.mark.every_engine
def test_a_key_has_a_label_that_the_store_takes(fanion: Fanion) -> None:
    expect_refused(
        fanion("keys", "create", "--label", "x" * 41), "--label: a label has 1 to 40 characters."
    )


@pytest.mark.every_engine
def test_roles_have_members_and_an_access_level(fanion: Fanion, records_url: str) -> None:
    fanion("users", "add", ADA)

    added = run_for_json(fanion, "roles", "add", "Makers", "--access", "view")
    run_for_text(fanion, "roles", "add-member", "makers", ADA)
    run_for_text(fanion, "roles", "add", "Admins")

    admins, makers = run_for_json(fanion, "roles", "list")
    assert (admins["name"], admins["access"], admins["members"]) == ("Admins", "edit", [])
    assert makers == {
        "id": added["id"],
        "name": "Makers",
        "access": "view",
        "members": [ADA],
        "flags": [],
    }
    assert ADA in run_for_text(fanion, "roles", "list")
    assert run_for_text(fanion, "roles", "remove-member", "Makers", ADA) == "Removed.\n"
    assert run_for_json(fanion, "roles", "list")[1]["members"] == []
    assert run_for_text(fanion, "roles", "remove", "MAKERS") == "Removed.\n"
    assert [role["name"] for role in run_for_json(fanion, "roles", "list")] == ["Admins"]
    assert [entry[0] for entry in activity_entries(records_url, "Role")] == [
        "created",
        "updated",
        "created",
        "updated",
        "deleted",
    ]


ROLE_REFUSALS: list[tuple[list[str], str]] = [
    (["add", "makers"], "There is already a role with this name."),
    (["add", ""], "The name must have 1 to 200 characters."),
    (["add", "x", "--access", "all"], "--access: 'all' is not an access level; use view or edit."),
    (["remove", "none"], "There is no role none; `fanion roles list` shows them."),
    (["add-member", "none", OWNER], "There is no role none; `fanion roles list` shows them."),
    (["add-member", "Makers", ADA], f"There is no user {ADA}; `fanion users list` shows them."),
    (["remove-member", "Makers", ADA], f"{ADA} is not in the role Makers."),
]


@pytest.mark.parametrize(("arguments", "said"), ROLE_REFUSALS)
def test_what_no_role_can_be_is_refused(fanion: Fanion, arguments: list[str], said: str) -> None:
    fanion("roles", "add", "Makers")

    expect_refused(fanion("roles", *arguments), said)

    assert [role["name"] for role in run_for_json(fanion, "roles", "list")] == ["Makers"]


def test_a_member_is_put_into_a_role_once(fanion: Fanion) -> None:
    fanion("roles", "add", "Makers")
    run_for_text(fanion, "roles", "add-member", "Makers", OWNER)

    expect_refused(
        fanion("roles", "add-member", "Makers", OWNER), "User is already part of the role."
    )


def test_ids_are_whole_in_80_columns(fanion: Fanion) -> None:
    added = run_for_json(fanion, "users", "add", ADA)
    role = run_for_json(fanion, "roles", "add", "Those who make releases on Fridays")

    for name, returned in (("users", added["uuid"]), ("roles", role["id"])):
        listing = fanion(name, "list", env={"COLUMNS": "80", "FORCE_COLOR": "1"})
        assert returned in listing.stdout
        assert max(map(len, listing.stdout.splitlines())) <= 80


@pytest.mark.every_engine
def test_a_second_factor_is_removed_by_the_operator(fanion: Fanion, records_url: str) -> None:
    user_id = run_for_json(fanion, "users", "add", ADA)["id"]

    expect_refused(fanion("users", "remove-second-factor", ADA), f"{ADA} has no second factor.")
    add_second_factor(records_url, user_id)
    removed = run_for_text(fanion, "users", "remove-second-factor", ADA.upper())

    assert removed == "Removed.\n"
    expect_refused(fanion("users", "remove-second-factor", ADA), f"{ADA} has no second factor.")
    expect_refused(
        fanion("users", "remove-second-factor", "bob@example.com"),
        "There is no user bob@example.com; `fanion users list` shows them.",
    )


def test_a_removed_user_leaves_no_way_to_sign_in(fanion: Fanion, records_url: str) -> None:
    """The address may pass to another user, who must not inherit a second factor."""
    user_id = run_for_json(fanion, "users", "add", ADA)["id"]
    add_second_factor(records_url, user_id)

    run_for_text(fanion, "users", "remove", ADA)
    run_for_text(fanion, "users", "add", ADA)

    expect_refused(fanion("users", "remove-second-factor", ADA), f"{ADA} has no second factor.")


def add_second_factor(records_url: str, user_id: int) -> None:
    secret = totp_secret(b"a secret of the test")

    async def add() -> None:
        records = await open_records(records_url)
        try:
            store, now = SecondFactorStore(records), utc_now()
            await store.begin_setup(user_id, secret, now)
            assert await store.confirm(user_id, TOTP(secret).at(now), ["abcd"], now)
        finally:
            await records.close()

    asyncio.run(add())
