"""A flag as people define it, and the access of a user to the flags of a project.

Source: flags.md sections 11 and 16.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from fanion.errors import PermissionDenied
from fanion.flags.engine.definition import BucketingIdentifier, EvaluationRuntime
from fanion.projects.organizations.model import AccessLevel

NAMED_MAX = 10  # flags named in one error


class PlainFlag(Struct, frozen=True, kw_only=True):
    """The fields of a flag that mean the same in every project.

    `filters` and `rollback_conditions` may name other objects: by id in a project, by key or name
    in a document.

    Attributes:
        filters: With `groups`.
    """

    key: str
    name: str = ""
    filters: dict[str, Any] = {}
    active: bool = True
    ensure_experience_continuity: bool | None = False
    rollback_conditions: Any = None
    performed_rollback: bool | None = None
    tags: list[str] = []
    has_enriched_analytics: bool = False
    bucketing_identifier: BucketingIdentifier | None = None
    evaluation_runtime: EvaluationRuntime | None = None
    evaluation_contexts: list[str] | None = None


@dataclass(frozen=True, slots=True)
class FlagAccess:
    """The access of one user to the flags of one project; every member may read them.

    Attributes:
        edits_all: Whether the user may edit every flag.
        given: Ids of the flags that may be edited by a role of the user.
        is_viewer: Whether the user may edit no flag, not even an own one, whatever the roles.
    """

    user_id: int
    edits_all: bool = True
    given: Collection[int] = ()
    is_viewer: bool = False

    def can_edit(self, flag_id: int, creator_id: int | None) -> bool:
        return not self.is_viewer and (self.can_share(creator_id) or flag_id in self.given)

    def can_share(self, creator_id: int | None) -> bool:
        """Return whether the user may change the flag's roles.

        If the flag's creator was deleted, nobody has this right as its creator.
        """
        return not self.is_viewer and (self.edits_all or creator_id == self.user_id)

    def require_edit(self, flag_id: int, creator_id: int | None) -> None:
        if not self.can_edit(flag_id, creator_id):
            raise PermissionDenied("You don't have edit permissions for this feature flag.")

    def require_audience(self, flags: Iterable[tuple[int, str, int | None]]) -> None:
        """Raise PermissionDenied, naming the flags, unless the user may edit all of these flags.

        Whoever changes the members of a cohort must be allowed to edit the flags that use it.

        Args:
            flags: Id, key and creator of each flag.
        """
        keys = [key for flag_id, key, creator_id in flags if not self.can_edit(flag_id, creator_id)]
        if keys:
            more = len(keys) - NAMED_MAX
            named = ", ".join(keys[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
            raise PermissionDenied(
                f"You don't have edit permissions for feature flags that use this cohort: {named}."
            )

    def require_share(self, creator_id: int | None) -> None:
        if not self.can_share(creator_id):
            raise PermissionDenied("You can't edit roles for this feature flag.")


def edits_all(*, is_admin: bool, setting: AccessLevel | None, role_levels: Sequence[int]) -> bool:
    """Return whether a user may edit every flag.

    Args:
        setting: What the organization allows every member; None if it is not set.
        role_levels: The levels of the user's roles, of which the highest counts.
    """
    if is_admin or setting is None or setting is AccessLevel.EDIT:
        return True
    return max(role_levels, default=setting) >= AccessLevel.EDIT


def variant_shares(filters: Mapping[str, Any]) -> dict[str, float]:
    """Return the percentage of each variant of a flag, by key."""
    multivariate = filters.get("multivariate")
    variants = multivariate.get("variants") if isinstance(multivariate, dict) else None
    listed = variants if isinstance(variants, list) else []
    return {
        variant["key"]: variant["rollout_percentage"]
        for variant in listed
        if isinstance(variant, dict) and {"key", "rollout_percentage"} <= variant.keys()
    }
