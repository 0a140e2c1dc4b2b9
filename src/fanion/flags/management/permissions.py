"""Who may change a flag, and who may give it to a role.

source: flags.md section 16
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from fanion.errors import PermissionDenied
from fanion.projects.model import AccessLevel

NAMED_MAX = 10  # flags in one refusal


@dataclass(frozen=True, slots=True)
class FlagAccess:
    """What one user may do with the flags of one project; every member may read.

    edits_all: whatever the flag
    given:     ids of the flags that a role of the user was given
    """

    user_id: int
    edits_all: bool = True
    given: Collection[int] = ()

    def can_edit(self, flag_id: int, creator_id: int | None) -> bool:
        return self.can_share(creator_id) or flag_id in self.given

    def can_share(self, creator_id: int | None) -> bool:
        """Whether the flag's roles may be changed. A creator who is gone gives no right."""
        return self.edits_all or creator_id == self.user_id

    def require_edit(self, flag_id: int, creator_id: int | None) -> None:
        """raises: PermissionDenied"""
        if not self.can_edit(flag_id, creator_id):
            raise PermissionDenied("You don't have edit permissions for this feature flag.")

    def require_audience(self, flags: Iterable[tuple[int, str, int | None]]) -> None:
        """Of a cohort that flags use: who may not edit them may not change whom it holds.

        flags:  id, key and creator of each
        raises: PermissionDenied, which names those that may not be edited
        """
        keys = [key for flag_id, key, creator_id in flags if not self.can_edit(flag_id, creator_id)]
        if keys:
            more = len(keys) - NAMED_MAX
            named = ", ".join(keys[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
            raise PermissionDenied(
                f"You don't have edit permissions for feature flags that use this cohort: {named}."
            )

    def require_share(self, creator_id: int | None) -> None:
        """raises: PermissionDenied"""
        if not self.can_share(creator_id):
            raise PermissionDenied("You can't edit roles for this feature flag.")


def edits_all(*, is_admin: bool, setting: AccessLevel | None, role_levels: Sequence[int]) -> bool:
    """setting:     what the organization allows every member; None when it has not been set
    role_levels: of the user's roles; the highest counts
    """
    if is_admin or setting is None or setting is AccessLevel.EDIT:
        return True
    return max(role_levels, default=setting) >= AccessLevel.EDIT
