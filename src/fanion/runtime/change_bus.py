"""The announcement of changes in this process to the caches and streams that depend on them.

Publishers and subscribers do not know each other: `app/` subscribes them.
"""

from collections import defaultdict
from collections.abc import Callable
from enum import Enum, auto

Subscriber = Callable[[int], None]


class Topic(Enum):
    """A kind of change; the id that is published with it is in brackets."""

    FLAGS = auto()  # stored flags, or what they are computed from, by this process (project)
    FLAGS_LOADED = auto()  # compiled flags in memory, after a change by any process (project)
    LARGE_FLAG_SET = auto()  # not a change: very many flags are about to be compiled (project)
    GROUP_TYPES = auto()  # ingestion has met a new one (project)
    PROJECT = auto()  # a stored project, by this process (project)
    PROJECT_LOADED = auto()  # a project in memory, after a change by any process (project)
    PERSONAL_KEYS = auto()  # one was revoked, or its owner's rights changed, by this process (user)
    SESSIONS = auto()  # some of a user's have ended, by this process (user)
    SECRET_KEYS = auto()  # one was replaced or revoked by this process (project)


class ChangeBus:
    """The bus of one process.

    Subscribers are called at once, in the order in which they subscribed. When `publish` returns,
    all of them have reacted. They neither wait nor raise.
    """

    def __init__(self) -> None:
        self._subscribers: defaultdict[Topic, list[Subscriber]] = defaultdict(list)

    def subscribe(self, topic: Topic, *subscribers: Subscriber) -> None:
        self._subscribers[topic] += subscribers

    def unsubscribe(self, topic: Topic, subscriber: Subscriber) -> None:
        """Remove a subscriber.

        Raises:
            ValueError: It has not subscribed.
        """
        self._subscribers[topic].remove(subscriber)

    def publish(self, topic: Topic, changed_id: int) -> None:
        for subscriber in self._subscribers.get(topic, ()):
            subscriber(changed_id)
