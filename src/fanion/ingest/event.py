"""Events on their way through ingestion, and the reasons why items do not become events."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from fanion.groups.model import GroupIdentify
from fanion.ingest.timestamps import IgnoredTime
from fanion.persons.merge import Merge, PersonUpdate


class Drop(StrEnum):
    """A reason why an item is not stored.

    Source: capture.md 1.8.
    """

    NO_NAME = "no_name"
    NO_DISTINCT_ID = "no_distinct_id"
    DIVERTED_EVENT = "diverted_event"
    PERSON_PROFILE_NEEDED = "person_profile_needed"
    USER_AGENT = "user_agent"
    ERASED = "erased"  # its person was deleted, with its events, after it was accepted
    DUPLICATE = "duplicate"


class PreparedEvent(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An event to be stored, with its effects on groups and on persons (`merge.PersonCommand`).

    It is sent to another process as an array, whose last fields are omitted if they have their
    defaults.

    Attributes:
        timestamp: Aware, in UTC.
        properties: To be stored; `$group_<index>` is added once the types are known.
        update: None if the event does not change its person.
        merge: None if it does not merge persons.
        groups: Group type → key.
        group_identify: None if it does not change a group.
        makes_person: False for events without a person profile.
        ignored_times: Times sent by the client that have no effect.
    """

    name: str
    uuid: UUID
    distinct_id: str
    timestamp: datetime
    properties: dict[str, Any] = {}
    makes_person: bool = True
    update: PersonUpdate | None = None
    merge: Merge | None = None
    groups: Mapping[str, str] = {}
    group_identify: GroupIdentify | None = None
    ignored_times: tuple[IgnoredTime, ...] = ()


class ReceivedEvent(msgspec.Struct, frozen=True, gc=False):
    """A prepared event with the time at which its envelope was accepted.

    Attributes:
        is_named: Whether the client gave its id, so that repetitions can be recognised.
    """

    prepared: PreparedEvent
    received_at: datetime
    is_named: bool = False
