"""What differs between two states of a thing, as its activity tells it.

source: flags.md section 14
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

Action = Literal["created", "changed", "deleted"]
JobType = Literal["scheduled_change", "auto_rollback"]

_encode = msgspec.json.Encoder(order="deterministic").encode


class Change(Struct, frozen=True, kw_only=True):
    """type: what kind of thing changed, the same word as its entry's scope"""

    type: str
    action: Action
    field: str
    before: Any = None
    after: Any = None


class Trigger(Struct, frozen=True, kw_only=True):
    """What made a change that nobody made by hand at that moment.

    job_id:  of the job among those of its type
    payload: what the job was told to do, or what it found
    """

    job_type: JobType
    job_id: str
    payload: Any


def changes(
    scope: str, before: Mapping[str, Any], after: Mapping[str, Any], fields: Iterable[str]
) -> list[Change]:
    """The fields that differ as JSON, in the order of `fields`; one that is absent is null.

    scope: as in `Entry`, for example "FeatureFlag"
    """
    return [
        Change(
            type=scope,
            action=_action(before.get(field), after.get(field)),
            field=field,
            before=before.get(field),
            after=after.get(field),
        )
        for field in fields
        if _differ(before.get(field), after.get(field))
    ]


def _action(before: object, after: object) -> Action:
    if before is None:
        return "created"
    return "deleted" if after is None else "changed"


def _differ(before: object, after: object) -> bool:
    """Python takes True for 1, JSON does not."""
    return _encode(before) != _encode(after)
