"""Builder of the streams of live events."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from fanion.app.services import Services
from fanion.events.live.follow_worker import LiveFollower
from fanion.events.live.stream_service import LiveEvents
from fanion.events.storage.store import EventStore
from fanion.persons.api import persons_of_events
from fanion.runtime.background import BackgroundTask
from fanion.runtime.change_bus import Topic


@dataclass(frozen=True, slots=True)
class LiveServices:
    """The streams of live events, and the store they follow.

    Attributes:
        is_followed: Whether other servers may ingest, so that the store must be followed.
    """

    events: LiveEvents
    store: EventStore
    now: Callable[[], datetime]
    is_followed: bool

    def loops(self, ingests_all: Callable[[], bool]) -> Mapping[str, BackgroundTask]:
        if not self.is_followed:
            return {}
        follower = LiveFollower(self.events, self.store, ingests_all, self.now)
        return {"live_events": follower.run}


def build_live(public: Services, events: EventStore) -> LiveServices:
    live = LiveEvents(partial(persons_of_events, public.records))
    public.context.metrics.event_streams.set_function(lambda: live.streams)
    for topic in (Topic.PERSONAL_KEYS, Topic.SESSIONS):
        public.flags.bus.subscribe(topic, live.check_access)
    is_followed = public.records.dialect != "sqlite"
    return LiveServices(live, events, public.context.now, is_followed)
