"""The provider's claims about a user, and the access that its groups give."""

from typing import Any

import pytest

from fanion.accounts.oidc.model import (
    GrantedAccess,
    OidcSettings,
    granted_access,
    lacks_claims,
    read_identity,
)
from fanion.config import GroupAccess
from fanion.projects.model import Level

SETTINGS = OidcSettings(
    "https://id.example.com",
    "fanion",
    "very secret",
    domains=frozenset({"example.com"}),
    groups={"staff": GroupAccess("member")},
)
VERIFIED = {"email": "Ada@Example.com", "email_verified": True}


@pytest.mark.parametrize(
    ("token", "info", "email"),
    [
        (VERIFIED, {}, "ada@example.com"),
        ({}, VERIFIED, "ada@example.com"),
        ({}, VERIFIED | {"email_verified": "true"}, "ada@example.com"),
        # Address and mark must come from the same source.
        ({"email": "boss@example.com"}, VERIFIED, "ada@example.com"),
        ({"email_verified": True}, {"email": "boss@example.com"}, None),
        (VERIFIED | {"email_verified": False}, VERIFIED, None),
        *(({**VERIFIED, "email_verified": value}, {}, None) for value in (None, 1, "yes", [True])),
        *(({**VERIFIED, "email": value}, {}, None) for value in (None, "", "ada", ["a@b.c"], 7)),
        ({**VERIFIED, "email": "a" * 300 + "@example.com"}, {}, None),
        ({**VERIFIED, "email": "a\0@example.com"}, {}, None),
    ],
)
def test_only_a_verified_address_counts(
    token: dict[str, Any], info: dict[str, Any], email: str | None
) -> None:
    assert read_identity({"sub": "1", **token}, info, SETTINGS).verified_email == email


@pytest.mark.parametrize(
    ("domains", "is_trusted"),
    [({"example.com"}, True), ({"ample.com"}, False), ({"com"}, False), (set(), False)],
)
def test_a_domain_has_to_be_listed_whole(domains: set[str], is_trusted: bool) -> None:
    settings = OidcSettings("https://id.example.com", "fanion", domains=frozenset(domains))
    identity = read_identity({"sub": "1", **VERIFIED}, {}, settings)

    assert settings.is_trusted_address(identity) == is_trusted


def test_an_address_that_is_not_verified_is_trusted_nowhere() -> None:
    identity = read_identity({"sub": "1", "email": "ada@example.com"}, {}, SETTINGS)

    assert not SETTINGS.is_trusted_address(identity)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"given_name": "Ada", "name": "Ada Lovelace"}, "Ada"),
        ({"name": " Ada Lovelace "}, "Ada Lovelace"),
        ({"name": "\x1b[31m", **VERIFIED}, "ada"),
        ({"given_name": 7, "name": ""}, "?"),
        ({"name": "x" * 1000}, "x" * 150),
    ],
)
def test_the_name_is_what_the_provider_shows(claims: dict[str, Any], name: str) -> None:
    assert read_identity({"sub": "1"}, claims, SETTINGS).first_name == name


@pytest.mark.parametrize(
    ("token", "info", "groups"),
    [
        ({"groups": ["staff", "web"]}, {}, {"staff", "web"}),
        ({}, {"groups": ["staff"]}, {"staff"}),
        ({"groups": []}, {"groups": ["staff"]}, set()),
        ({"groups": "staff"}, {}, {"staff"}),
        ({"groups": ["staff", 7, None, ["web"]]}, {}, {"staff"}),
        ({"groups": {"staff": True}}, {}, set()),
        ({}, {}, set()),
    ],
)
def test_groups_are_names(token: dict[str, Any], info: dict[str, Any], groups: set[str]) -> None:
    assert read_identity({"sub": "1", **token}, info, SETTINGS).groups == groups


def test_user_info_is_asked_for_what_the_token_lacks() -> None:
    without_groups = OidcSettings("https://id.example.com", "fanion")

    assert lacks_claims(VERIFIED, SETTINGS)
    assert lacks_claims({"email": "ada@example.com"}, without_groups)
    assert not lacks_claims(VERIFIED, without_groups)
    assert not lacks_claims(VERIFIED | {"groups": []}, SETTINGS)


MAPPING = {
    "staff": GroupAccess("member", ("Web",)),
    "leads": GroupAccess("admin", ("Web", "Releases")),
    "guests": GroupAccess(roles=("Visitors",)),
}
MANAGED = frozenset({"Web", "Releases", "Visitors"})


@pytest.mark.parametrize(
    ("groups", "level", "roles"),
    [
        ({"staff"}, Level.MEMBER, {"Web"}),
        ({"staff", "leads", "unknown"}, Level.ADMIN, {"Web", "Releases"}),
        ({"guests"}, Level.MEMBER, {"Visitors"}),
        (set(), Level.MEMBER, set()),
    ],
)
def test_groups_give_the_highest_level_and_all_roles(
    groups: set[str], level: Level, roles: set[str]
) -> None:
    access = granted_access(MAPPING, frozenset(groups), Level.MEMBER)

    assert access == GrantedAccess(level, frozenset(roles), MANAGED)


def test_groups_without_levels_decide_about_none() -> None:
    mapping = {"guests": MAPPING["guests"]}

    access = granted_access(mapping, frozenset({"guests"}), Level.MEMBER)

    assert access == GrantedAccess(None, frozenset({"Visitors"}), frozenset({"Visitors"}))
    assert granted_access({}, frozenset({"staff"}), Level.MEMBER) == GrantedAccess(
        None, frozenset(), frozenset()
    )


def test_the_secret_is_not_shown() -> None:
    assert "very secret" not in repr(SETTINGS)
