"""Requests of the endpoints of holdouts, and their checks.

Source: experiments.md section 1d.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import Invalid
from fanion.experiments.model import DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX
from fanion.flags.definitions.validation.parts import is_list_of_objects
from fanion.rest.posthog_fields import OF_HOLDOUT
from fanion.rest.unknown_fields import require_known

_KNOWN = frozenset({"properties", "rollout_percentage", "variant"})
Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
Description = Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)]
Filters = Annotated[
    Any,
    Meta(
        description="`[{properties: [], rollout_percentage: 20}]`: one entry, with the percentage "
        "of all persons who are kept out."
    ),
]


class NewHoldout(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_HOLDOUT

    name: Name
    description: Description | None = None
    filters: Filters = None


class HoldoutChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_HOLDOUT

    name: Name | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    filters: Filters = UNSET


def read_filters(sent: object) -> list[dict[str, Any]]:
    """Return the condition sets of a holdout, without the variant, which the server sets.

    Raises:
        Invalid: They cannot be used.
    """
    if not sent:
        raise Invalid("Filters are required to create an holdout group", attr="filters")
    if not is_list_of_objects(sent):
        raise Invalid("Filters must be a list of objects", attr="filters")
    if len(sent) > 1:
        raise Invalid("A holdout has one condition set: only the first is used.", attr="filters")
    return [_read_group(sent[0])]


def _read_group(group: dict[str, Any]) -> dict[str, Any]:
    require_known(group, _KNOWN, "filters__0")
    share = group.get("rollout_percentage")
    if share is None or isinstance(share, bool) or not isinstance(share, int | float):
        raise Invalid("Rollout percentage must be present.", attr="filters")
    if not 0 <= share <= 100:
        raise Invalid("Rollout percentage must be between 0 and 100.", attr="filters")
    if group.get("properties"):
        raise Invalid(
            "A holdout keeps a percentage of all persons out: it has no conditions.",
            attr="filters__0__properties",
        )
    return {"properties": [], "rollout_percentage": share}


def with_variant(filters: Sequence[dict[str, Any]], holdout_id: int) -> list[dict[str, Any]]:
    """Return condition sets whose variant names the holdout, as flags answer it."""
    return [{**group, "variant": f"holdout-{holdout_id}"} for group in filters]
