"""E-mail addresses, levels and names as an operator may write them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

import pytest

from fanion.errors import PermissionDenied
from fanion.projects.auth.model import Principal
from fanion.projects.model import Level, Project, User, read_email, read_first_name, read_level

HERE, THERE = UUID(int=1), UUID(int=2)


def test_a_level_is_known_by_its_name_in_any_case() -> None:
    texts = ("viewer", "member", " Admin", "OWNER")

    assert [read_level(text) for text in texts] == list(Level)


@pytest.mark.parametrize("text", ["boss", "", "15", "mem ber"])
def test_an_unknown_level_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a level; use viewer, member, admin or owner\.$"):
        read_level(text)


def test_an_address_is_stored_in_lower_case() -> None:
    assert read_email(" Ada@Example.COM ") == "ada@example.com"
    assert read_email("a" * 248 + "@ex.io") == "a" * 248 + "@ex.io"


@pytest.mark.parametrize(
    "text", ["", "ada", "@x.io", "ada@", "a da@x.io", "ada@x@y", "ada@x\x1b[1m", "a\u200b@x.io"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an e-mail address, such as"):
        read_email(text)


def test_a_long_address_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 254 characters\.$"):
        read_email("a" * 249 + "@ex.io")


def test_a_first_name_has_some_characters() -> None:
    assert read_first_name(" Ada ") == "Ada"
    for text in ("", "  ", "x" * 151):
        with pytest.raises(ValueError, match=r"1 to 150 characters\.$"):
            read_first_name(text)


def principal(levels: Mapping[UUID, int]) -> Principal:
    user = User(1, UUID(int=3), "d", "Vera", "vera@example.com", True, None)
    return Principal(user, UUID(int=4), None, None, levels)


def project(organization_id: UUID) -> Project:
    made = datetime(2024, 3, 1, tzinfo=UTC)
    return Project(7, UUID(int=5), organization_id, "P", "phc_p", "UTC", made)


def test_a_viewer_of_one_organization_may_be_more_in_another() -> None:
    both = principal({HERE: Level.VIEWER, THERE: Level.MEMBER})

    both.require_access(project(HERE), None)
    both.require_access(project(THERE), None, changes=True)
    both.require_access(None, None, changes=True, organization_id=THERE)
    both.require_access(None, None, changes=True)  # for objects that belong to no organization
    with pytest.raises(PermissionDenied, match=r"^Viewers cannot make changes\.$"):
        both.require_access(project(HERE), None, changes=True)
    with pytest.raises(PermissionDenied, match=r"^Viewers cannot make changes\.$"):
        both.require_access(None, None, changes=True, organization_id=HERE)


def test_someone_who_only_views_changes_nothing_outside_of_organizations_either() -> None:
    with pytest.raises(PermissionDenied, match="Viewers"):
        principal({HERE: Level.VIEWER}).require_access(None, None, changes=True)


def test_the_lowest_level_is_not_that_of_another_organization() -> None:
    stranger = principal({HERE: Level.OWNER})

    principal({HERE: Level.VIEWER}).require_level(HERE, Level.VIEWER)
    with pytest.raises(PermissionDenied):
        stranger.require_level(THERE, Level.VIEWER)
