"""Changes that stored events request and that are not made, for the ledger."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from fanion.groups.model import GROUP_TYPES_MAX, GroupIdentify
from fanion.ingest.event import ReceivedEvent
from fanion.ingest.ledger.model import SkippedChange, SkipReason
from fanion.ingest.timestamps import TimeFault
from fanion.persons.merge import NAMES_LISTED_MAX, Changes

_OF_TIME = {
    TimeFault.UNREADABLE: (SkipReason.TIME_UNREADABLE, "time"),
    TimeFault.AHEAD: (SkipReason.TIME_AHEAD, "time"),
    TimeFault.SENT_AT_UNREADABLE: (SkipReason.SENT_AT_UNREADABLE, "sent_at"),
}


def skipped_changes(
    arrived: Sequence[ReceivedEvent], types: Mapping[str, int], changes: Changes
) -> list[SkippedChange]:
    """Return all skipped changes except those of groups, for which `skipped_group` exists.

    Args:
        types: The group types by name.
        changes: The changes of persons.
    """
    return [
        *_skipped_persons(arrived, changes),
        *_skipped_types(arrived, types),
        *_ignored_times(arrived),
    ]


def skipped_group(event: ReceivedEvent, identify: GroupIdentify) -> SkippedChange:
    whose = f"group: {identify.group_type} {identify.group_key}"
    names = tuple(islice(identify.properties, NAMES_LISTED_MAX))
    return SkippedChange(SkipReason.GROUP_TOO_LARGE, event, whose, 1, names)


def _skipped_types(
    arrived: Sequence[ReceivedEvent], types: Mapping[str, int]
) -> list[SkippedChange]:
    """Return the group types that were left out.

    A project with fewer types than GROUP_TYPES_MAX has all types that its events name.
    """
    if len(types) < GROUP_TYPES_MAX:
        return []
    skipped: list[SkippedChange] = []
    for event in arrived:
        identify = event.prepared.group_identify
        if not event.prepared.groups and identify is None:
            continue
        named = {**event.prepared.groups, **({identify.group_type: ""} if identify else {})}
        if left_out := [name for name in named if name not in types]:
            listed = ", ".join(left_out[:GROUP_TYPES_MAX])
            skipped.append(
                SkippedChange(SkipReason.GROUP_TYPE_LEFT_OUT, event, f"group types: {listed}")
            )
    return skipped


def _ignored_times(arrived: Iterable[ReceivedEvent]) -> Iterator[SkippedChange]:
    for event in arrived:
        for ignored in event.prepared.ignored_times:
            reason, name = _OF_TIME[ignored.fault]
            yield SkippedChange(reason, event, f"{name}: {ignored.given}")


def _skipped_persons(arrived: Sequence[ReceivedEvent], changes: Changes) -> list[SkippedChange]:
    if not changes.omitted:
        return []
    events = {id(event.prepared): event for event in arrived}
    return [
        SkippedChange(
            SkipReason.MERGE_LEFT_OUT if omission.is_merge else SkipReason.PERSON_TOO_LARGE,
            events[id(omission.command)],
            f"person: {omission.person}",
            omission.count if omission.is_merge else 1,
            omission.names,
        )
        for omission in changes.omitted
    ]
