"""Outcomes of the items of a batch: counts for the ledger, and the newest examples.

Besides items, the ledger counts changes that stored events requested and that were skipped:
changes of persons and groups, group types, and times. They are not part of sums of items, in
which the event counts as stored.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from fanion.groups.model import GROUP_TYPES_MAX
from fanion.ingest.event import Drop, ReceivedEvent
from fanion.ingest.timestamps import FUTURE_MAX
from fanion.properties.size import PROPERTIES_BYTES_MAX

# Outcomes in addition to those of Drop.
STORED = "stored"
DEAD_LETTER = "dead_letter"
DISCARDED = "discarded"  # a dead letter that an operator discarded
HOURS_KEPT = timedelta(days=30)  # how long counts are kept


class SkipReason(StrEnum):
    """A reason why a change that a stored event requested was skipped.

    Changes are counted by event, MERGE_LEFT_OUT by property.

    Source: docs/limits.md; capture.md sections 2 and 5.
    """

    PERSON_TOO_LARGE = "person_too_large"
    GROUP_TOO_LARGE = "group_too_large"
    MERGE_LEFT_OUT = "merge_left_out"
    GROUP_TYPE_LEFT_OUT = "group_type_left_out"
    TIME_UNREADABLE = "time_unreadable"
    TIME_AHEAD = "time_ahead"
    SENT_AT_UNREADABLE = "sent_at_unreadable"


_LIMIT = f"{PROPERTIES_BYTES_MAX // 1024} KB of properties"

MEANING: Mapping[str, str] = {
    STORED: "Stored and visible.",
    DEAD_LETTER: "Dead letter: the request could not be ingested. It can be retried.",
    DISCARDED: "Dead letter that an operator discarded.",
    Drop.NO_NAME: "The event has no name.",
    Drop.NO_DISTINCT_ID: "The event has no distinct_id, or an empty one.",
    Drop.DIVERTED_EVENT: "Events of this name belong to a product that is not supported.",
    Drop.PERSON_PROFILE_NEEDED: "It needs a person, but has $process_person_profile: false.",
    Drop.USER_AGENT: "The project drops events of this user agent.",
    Drop.DUPLICATE: "An event with this uuid is already stored.",
    Drop.ERASED: "Its person was deleted together with all events after the event was accepted.",
    SkipReason.PERSON_TOO_LARGE: f"Its person would have exceeded {_LIMIT}, so that its"
    " properties were not changed. The event is stored.",
    SkipReason.GROUP_TOO_LARGE: f"Its group would have exceeded {_LIMIT}, so that its"
    " properties were not changed. The event is stored.",
    SkipReason.MERGE_LEFT_OUT: "Properties of a merged person that were left out: the"
    f" surviving person would have exceeded {_LIMIT}. The event is stored.",
    SkipReason.GROUP_TYPE_LEFT_OUT: f"It names a group type beyond the {GROUP_TYPES_MAX} that the"
    " project has. The event is stored without that group.",
    SkipReason.TIME_UNREADABLE: "Its timestamp or offset cannot be read. The event is stored with"
    " the time of its arrival.",
    SkipReason.TIME_AHEAD: "Its time lies more than"
    f" {FUTURE_MAX // timedelta(hours=1)} hours after its arrival. The event is stored with the"
    " time of its arrival.",
    SkipReason.SENT_AT_UNREADABLE: "The sent_at of its request cannot be read, so that its"
    " timestamp was not corrected by the client's clock. The event is stored.",
}

EXAMPLES_MAX = 10  # for each project and outcome
EXAMPLE_BYTES_MAX = 2048
_NAME_BYTES, _UUID_BYTES, _DETAIL_BYTES = 400, 64, 1000
_KEYS_MAX = 40

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)

Item = Mapping[str, Any]


class Example(Struct, frozen=True):
    """One item that was not stored, within EXAMPLE_BYTES_MAX, without values of properties.

    The event, distinct id and uuid are as sent, as text; None if they were not sent.
    """

    event: str | None
    distinct_id: str | None
    uuid: str | None
    received_at: datetime
    detail: str


class Tally(Struct, frozen=True):
    """Counts and examples to add to the ledger.

    Attributes:
        counts: Items by project, minute of acceptance and outcome.
        examples: The newest first, by project and outcome.
    """

    counts: Counter[tuple[int, int, str]] = field(default_factory=Counter)
    examples: dict[tuple[int, str], list[Example]] = field(default_factory=dict)


class LedgerCount(Struct, frozen=True):
    """The number of a project's items that were accepted in one minute and had one outcome.

    Attributes:
        minute: Since the Unix epoch.
        outcome: A Drop, a SkipReason, or one of the outcomes of this module.
    """

    project_id: int
    minute: int
    outcome: str
    items: int


def minute_of(moment: datetime) -> int:
    """Return the whole minutes since the Unix epoch."""
    return (moment - _EPOCH) // _MINUTE


def time_of(minute: int) -> datetime:
    return _EPOCH + minute * _MINUTE


class Dropped:
    """A collector of a batch's items that are not stored. Only the last few become examples."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, int, str]] = Counter()
        self._newest: dict[tuple[int, str], deque[tuple[Item, datetime, str]]] = {}

    def add_item(
        self, project_id: int, received_at: datetime, outcome: str, item: Item, sender: str
    ) -> None:
        """Count an item that is not stored.

        Args:
            sender: The user agent of the request.
        """
        self._counts[project_id, minute_of(received_at), outcome] += 1
        newest = self._newest.get((project_id, outcome))
        if newest is None:
            newest = self._newest[project_id, outcome] = deque(maxlen=EXAMPLES_MAX)
        newest.append((item, received_at, sender))

    def tally(self) -> Tally:
        examples = {
            kind: [example_of(*item) for item in reversed(newest)]
            for kind, newest in self._newest.items()
        }
        return Tally(self._counts, examples)


def count_outcome(
    outcome: str, received: Mapping[int, Iterable[datetime]]
) -> Counter[tuple[int, int, str]]:
    """Count items with the same outcome by project and minute.

    Args:
        received: For each project, when each of its items was accepted.
    """
    counts: Counter[tuple[int, int, str]] = Counter()
    start = end = _EPOCH
    key = (0, 0, outcome)
    for project_id, moments in received.items():
        start = end
        for moment, items in Counter(moments).items():  # many arrived in one request
            if not start <= moment < end:  # mostly it is the previous one's minute
                key = (project_id, minute_of(moment), outcome)
                start = time_of(key[1])
                end = start + _MINUTE
            counts[key] += items
    return counts


def joined_tallies(*tallies: Tally) -> Tally:
    """Add up tallies. Later ones must have the newer examples."""
    counts: Counter[tuple[int, int, str]] = Counter()
    examples: dict[tuple[int, str], list[Example]] = {}
    for tally in tallies:
        for key, items in tally.counts.items():
            counts[key] += items
        for kind, newer in tally.examples.items():
            examples[kind] = newest_examples(newer, examples.get(kind, ()))
    return Tally(counts, examples)


def without_projects(tally: Tally, project_ids: Collection[int]) -> Tally:
    """Return the tally without some projects."""
    return Tally(
        Counter({key: items for key, items in tally.counts.items() if key[0] not in project_ids}),
        {key: some for key, some in tally.examples.items() if key[0] not in project_ids},
    )


def newest_examples(newer: Sequence[Example], older: Sequence[Example]) -> list[Example]:
    return [*newer, *older][:EXAMPLES_MAX]


def dead_letter_of(project_id: int, received_at: datetime, items: int, error: str) -> Tally:
    """Return the tally of a request that could not be ingested, with all its items."""
    example = Example(None, None, None, received_at, _truncated(error, _DETAIL_BYTES))
    return Tally(
        Counter({(project_id, minute_of(received_at), DEAD_LETTER): items}),
        {(project_id, DEAD_LETTER): [example]},
    )


def moved_from_dead_letters(
    project_id: int, received_at: datetime, items: int, outcome: str | None
) -> Tally:
    """Return the tally by which items no longer count as a dead letter.

    Args:
        outcome: Their new outcome; None if that is counted elsewhere.
    """
    minute = minute_of(received_at)
    counts = Counter({(project_id, minute, DEAD_LETTER): -items})
    if outcome is not None:
        counts[project_id, minute, outcome] = items
    return Tally(counts)


def example_of(item: Item, received_at: datetime, sender: str) -> Example:
    """Return an example of an item, whose detail names the sender and the item's fields.

    It never has values of properties, which a project may not want to be stored.
    """
    given = item.get("properties")
    properties: Item = given if isinstance(given, dict) else {}
    distinct_id = item.get("$distinct_id") or properties.get("distinct_id")
    return Example(
        _text_or_none(item.get("event"), _NAME_BYTES),
        _text_or_none(distinct_id or item.get("distinct_id"), _NAME_BYTES),
        _text_or_none(item.get("uuid"), _UUID_BYTES),
        received_at,
        _example_detail(item, properties, sender),
    )


class SkippedChange(Struct, frozen=True, gc=False):
    """A change that was skipped.

    Attributes:
        whose: The person, group or other object concerned, as text.
        count: What the ledger counts for it.
        names: Some of the properties concerned.
    """

    kind: SkipReason
    arrived: ReceivedEvent
    whose: str
    count: int = 1
    names: Sequence[str] = ()


def tally_of(project_id: int, skipped: Iterable[SkippedChange]) -> Tally:
    """Return the tally of skipped changes, which must be in the order of their events."""
    counts: Counter[tuple[int, int, str]] = Counter()
    newest: dict[SkipReason, deque[SkippedChange]] = {}
    for change in skipped:
        counts[project_id, minute_of(change.arrived.received_at), change.kind] += change.count
        newest.setdefault(change.kind, deque(maxlen=EXAMPLES_MAX)).append(change)
    examples = {
        (project_id, str(kind)): [_example_of_skipped(change) for change in reversed(some)]
        for kind, some in newest.items()
    }
    return Tally(counts, examples)


def _example_of_skipped(skipped: SkippedChange) -> Example:
    prepared = skipped.arrived.prepared
    names = ", ".join(_truncated(name, 100) for name in skipped.names[:_KEYS_MAX])
    detail = f"{skipped.whose}; properties: {names}" if names else skipped.whose
    return Example(
        _truncated(prepared.name, _NAME_BYTES),
        _truncated(prepared.distinct_id, _NAME_BYTES),
        str(prepared.uuid),
        skipped.arrived.received_at,
        _truncated(detail, _DETAIL_BYTES),
    )


def _example_detail(item: Item, properties: Item, sender: str) -> str:
    library = " ".join(
        str(properties[name]) for name in ("$lib", "$lib_version") if properties.get(name)
    )
    parts = [
        ("keys", ", ".join(_names(item))),
        ("properties", ", ".join(_names(properties))),
        ("library", _truncated(library, 100)),
        ("user agent", _truncated(sender, 300)),
    ]
    text = "; ".join(f"{name}: {value}" for name, value in reversed(parts) if value)
    return _truncated(text, _DETAIL_BYTES)


def _names(values: Item) -> list[str]:
    return [_truncated(name, 100) for name in sorted(values)[:_KEYS_MAX]]


def _text_or_none(value: object, bytes_max: int) -> str | None:
    return (
        None
        if value is None
        else _truncated(value if isinstance(value, str) else repr(value), bytes_max)
    )


def _truncated(text: str, bytes_max: int) -> str:
    return text[:bytes_max].encode(errors="replace")[:bytes_max].decode(errors="ignore")
