"""The last live events of a project that match a filter, numbered in order of arrival."""

from collections import deque
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.actions.conditions import ResolvedAction
from fanion.actions.matching import At, event_test
from fanion.events.event import Event

EVENTS_MAX: Final = 1_000
# The limit for the properties and names that a ring holds, as JSON; an event has 1 to 2 KB.
BYTES_MAX: Final = 8 * 2**20
# A larger event is counted but not sent; a client reads it by its id.
EVENT_BYTES_MAX: Final = 2**20
# The memory for the other fields of an event, which are objects.
OVERHEAD_BYTES: Final = 700


class LiveFilter(Struct, frozen=True):
    """A filter of live events. None stands for any value."""

    event: str | None = None
    distinct_id: str | None = None
    person_id: UUID | None = None
    action: ResolvedAction | None = None

    def fits(self, event: str, distinct_id: str, person_id: UUID) -> bool:
        """Return whether an event fits, as far as it is known without its properties."""
        names = None if self.action is None else self.action.events
        return (
            (self.event is None or self.event == event)
            and (names is None or event in names)
            and (self.distinct_id is None or self.distinct_id == distinct_id)
            and (self.person_id is None or self.person_id == person_id)
        )


class LiveEvent(Struct, frozen=True, gc=False):
    """A stored event.

    Attributes:
        position: Its position in the accept log.
        properties: A JSON object; empty if it is too large.
        elements_chain: JSON, of whatever kind the client sent.
    """

    position: str
    uuid: UUID
    event: str
    distinct_id: str
    timestamp: datetime
    properties: bytes
    elements_chain: bytes = b'""'

    @property
    def is_too_large(self) -> bool:
        return not self.properties

    @property
    def cost(self) -> int:
        """Return the bytes of memory that the event takes."""
        texts = 4 * (len(self.event) + len(self.distinct_id))
        return OVERHEAD_BYTES + len(self.properties) + len(self.elements_chain) + texts


def of_action(
    events: Iterable[LiveEvent], action: ResolvedAction, now: datetime
) -> list[LiveEvent]:
    """Return the events that an action matches; one that is too large is none of them."""
    test, at = event_test(action.condition), At(now)
    return [
        event
        for event in events
        if not event.is_too_large and test(event.event, msgspec.json.decode(event.properties), at)
    ]


def live_event(position: str, event: Event, elements_chain: bytes) -> LiveEvent:
    """Return a stored event for a stream. The `elements_chain` is JSON."""
    size = len(event.properties) + len(elements_chain)
    properties = b"" if size > EVENT_BYTES_MAX else event.properties
    return LiveEvent(
        position,
        event.uuid,
        event.event,
        event.distinct_id,
        event.timestamp,
        properties,
        elements_chain if properties else b'""',
    )


class Budget(Protocol):
    """A budget for the bytes of all rings."""

    def reserve(self, size: int, /) -> bool: ...

    def release(self, size: int, /) -> None: ...


class Ring:
    """A ring of events. The first event ever put is number 0; the oldest are lost first.

    Attributes:
        count: Number of events so far, including those that are lost.
    """

    def __init__(
        self, budget: Budget, events_max: int = EVENTS_MAX, bytes_max: int = BYTES_MAX
    ) -> None:
        self.count = 0
        self._budget = budget
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._events: deque[LiveEvent] = deque()
        self._bytes = 0

    @property
    def first(self) -> int:
        """Return the number of the oldest event in the ring; `count` if there is none."""
        return self.count - len(self._events)

    def put_events(self, events: Iterable[LiveEvent], earlier: int = 0) -> None:
        """Add events.

        Args:
            earlier: Number of events before these that are not kept.
        """
        if earlier:
            self.clear()
            self.count += earlier
        for event in events:
            self._append(event)

    def get(self, number: int) -> LiveEvent | None:
        """Return the event of a number; None if it is lost."""
        index = number - self.first
        return self._events[index] if 0 <= index < len(self._events) else None

    def find(self, position: str) -> int | None:
        """Return the number of the newest event with this position in the accept log."""
        numbered = zip(range(self.count - 1, -1, -1), reversed(self._events), strict=False)
        return next((number for number, event in numbered if event.position == position), None)

    def clear(self) -> None:
        self._events.clear()
        self._budget.release(self._bytes)
        self._bytes = 0

    def _append(self, event: LiveEvent) -> None:
        self.count += 1
        while self._events and (
            len(self._events) >= self._events_max or self._bytes + event.cost > self._bytes_max
        ):
            self._drop_oldest()
        while not self._budget.reserve(event.cost):
            if not self._events:
                return  # other rings take up the whole budget, so this event is lost
            self._drop_oldest()
        self._bytes += event.cost
        self._events.append(event)

    def _drop_oldest(self) -> None:
        cost = self._events.popleft().cost
        self._bytes -= cost
        self._budget.release(cost)
