"""The right to change a flag, and the right to give it to a role."""

import pytest

from fanion.errors import PermissionDenied
from fanion.flags.definitions.model import FlagAccess, edits_all
from fanion.projects.organizations.model import AccessLevel

VIEW, EDIT = AccessLevel.VIEW, AccessLevel.EDIT
ME, ANOTHER = 1, 2
FLAG = 10

# Administrator, setting, levels of roles → may edit every flag. Source: flags.md section 16.
EVERY_FLAG: list[tuple[bool, AccessLevel | None, list[AccessLevel], bool]] = [
    (True, VIEW, [], True),
    (True, VIEW, [VIEW], True),
    (False, None, [], True),
    (False, None, [VIEW], True),
    (False, EDIT, [VIEW], True),
    (False, EDIT, [], True),
    (False, VIEW, [], False),
    (False, VIEW, [VIEW], False),
    (False, VIEW, [EDIT], True),
    (False, VIEW, [VIEW, EDIT, VIEW], True),
]


@pytest.mark.parametrize(("is_admin", "setting", "levels", "expected"), EVERY_FLAG)
def test_levels_decide_about_every_flag(
    is_admin: bool, setting: AccessLevel | None, levels: list[AccessLevel], expected: bool
) -> None:
    assert edits_all(is_admin=is_admin, setting=setting, role_levels=levels) is expected


# Access, creator → may edit, may share.
ONE_FLAG = [
    (FlagAccess(ME), ANOTHER, True, True),
    (FlagAccess(ME), None, True, True),
    (FlagAccess(ME, edits_all=False), ANOTHER, False, False),
    (FlagAccess(ME, edits_all=False), None, False, False),
    (FlagAccess(ME, edits_all=False), ME, True, True),
    (FlagAccess(ME, edits_all=False, given={FLAG}), ANOTHER, True, False),
    (FlagAccess(ME, edits_all=False, given={FLAG + 1}), ANOTHER, False, False),
    (FlagAccess(ME, is_viewer=True), ANOTHER, False, False),
    (FlagAccess(ME, is_viewer=True, given={FLAG}), ME, False, False),
]


@pytest.mark.parametrize(("access", "creator", "edits", "shares"), ONE_FLAG)
def test_creators_and_what_was_given_decide_about_one_flag(
    access: FlagAccess, creator: int | None, edits: bool, shares: bool
) -> None:
    assert access.can_edit(FLAG, creator) is edits
    assert access.can_share(creator) is shares


def test_of_flags_that_use_a_cohort_those_that_may_not_be_edited_are_named() -> None:
    access = FlagAccess(ME, edits_all=False, given={FLAG})
    mine = [(1, "mine", ME), (FLAG, "given", ANOTHER)]
    others = [(number, f"f{number}", ANOTHER) for number in range(20, 32)]

    access.require_audience(mine)
    FlagAccess(ME).require_audience(others)

    with pytest.raises(PermissionDenied, match=r"use this cohort: f20, f21\.$"):
        access.require_audience([*mine, *others[:2]])
    with pytest.raises(PermissionDenied, match=r"f28, f29 and 2 more\.$"):
        access.require_audience(others)
