"""Rules for who may give which level to whom."""

import pytest

from fanion.errors import PermissionDenied
from fanion.projects.model import Level
from fanion.projects.organizations.model import (
    Manager,
    require_may_change_level,
    require_may_give,
    require_may_remove,
)

V, M, A, O = Level.VIEWER, Level.MEMBER, Level.ADMIN, Level.OWNER  # noqa: E741
ME, OTHER = 1, 2

TOO_LOW = "Your organization access level is insufficient."
OWN = "You can't change your own access level."
NOT_BELOW = "You can only manage members whose level is lower than yours."
TOO_HIGH = "You can only give levels that are not higher than your own."


def refusal(check: object) -> str | None:
    assert callable(check)
    try:
        check()
    except PermissionDenied as error:
        return error.detail
    return None


# Manager, present level, new level, and the refusal.
CHANGES: list[tuple[Level, Level, Level, str | None]] = [
    (V, V, M, TOO_LOW),
    (M, V, M, TOO_LOW),
    (M, M, V, TOO_LOW),
    (A, V, M, None),
    (A, M, V, None),
    (A, M, A, None),
    (A, V, O, TOO_HIGH),
    (A, A, M, NOT_BELOW),
    (A, O, M, NOT_BELOW),
    (O, V, O, None),
    (O, A, V, None),
    (O, O, M, None),
]


@pytest.mark.parametrize(("manager", "present", "new_level", "expected"), CHANGES)
def test_administrators_change_members_below_them_and_owners_everyone(
    manager: Level, present: Level, new_level: Level, expected: str | None
) -> None:
    def change() -> None:
        require_may_change_level(Manager(ME, manager), OTHER, present, new_level)

    assert refusal(change) == expected


@pytest.mark.parametrize("level", [A, O])
@pytest.mark.parametrize("new_level", list(Level))
def test_no_user_changes_their_own_level(level: Level, new_level: Level) -> None:
    assert (
        refusal(lambda: require_may_change_level(Manager(ME, level), ME, level, new_level)) == OWN
    )


REMOVALS: list[tuple[Level, Level, str | None]] = [
    (V, V, TOO_LOW),
    (M, V, TOO_LOW),
    (A, M, None),
    (A, A, NOT_BELOW),
    (A, O, NOT_BELOW),
    (O, O, None),
]


@pytest.mark.parametrize(("manager", "present", "expected"), REMOVALS)
def test_members_are_removed_by_who_may_manage_them(
    manager: Level, present: Level, expected: str | None
) -> None:
    assert refusal(lambda: require_may_remove(Manager(ME, manager), OTHER, present)) == expected


@pytest.mark.parametrize("level", list(Level))
def test_everybody_may_leave(level: Level) -> None:
    require_may_remove(Manager(ME, level), ME, level)


@pytest.mark.parametrize(
    ("manager", "level", "expected"),
    [(M, V, TOO_LOW), (A, V, None), (A, A, None), (A, O, TOO_HIGH), (O, O, None)],
)
def test_no_user_gives_a_higher_level_than_their_own(
    manager: Level, level: Level, expected: str | None
) -> None:
    assert refusal(lambda: require_may_give(Manager(ME, manager), level)) == expected
