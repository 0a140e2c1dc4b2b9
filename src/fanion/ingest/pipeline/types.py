"""What goes into `prepare` and what comes out of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Any
from uuid import UUID

import msgspec

from fanion.groups.model import GroupIdentify
from fanion.ingest.timestamps import IgnoredTime
from fanion.persons.merge import Merge, PersonUpdate
from fanion.projects.model import IngestionSettings
from fanion.runtime.uuids import uuid_of

GeoIp = Callable[[str], Mapping[str, object]]

_ENTRY_BITS, _INDEX_BITS = 50, 24
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ProjectRules:
    """How a project wants its events changed.

    anonymize_ips:       no address is stored, a client's own `$ip` neither
    dropped_user_agents: events whose user agent contains one of these, in any case
    removed_properties:  names that are taken out of events and person updates
    """

    anonymize_ips: bool = False
    dropped_user_agents: tuple[str, ...] = ()
    removed_properties: frozenset[str] = frozenset()


def rules_of(settings: IngestionSettings) -> ProjectRules:
    return ProjectRules(
        settings.anonymize_ips,
        settings.dropped_user_agents,
        frozenset(settings.removed_properties),
    )


@dataclass(frozen=True)
class Context:
    """What the items of one envelope share. Times are aware, in UTC.

    entry_id: the envelope's place in the accept log
    geoip:    `$geoip_…` properties of an address; {} when it is unknown
    """

    project_id: int
    entry_id: int
    received_at: datetime
    sent_at: datetime | None = None
    client_ip: str = ""
    user_agent: str = ""
    rules: ProjectRules = field(default_factory=ProjectRules)
    geoip: GeoIp | None = None

    @cached_property
    def sent_at_text(self) -> str | None:
        return None if self.sent_at is None else self.sent_at.isoformat()

    @cached_property
    def dropped_user_agents(self) -> tuple[str, ...]:
        return tuple(part.lower() for part in self.rules.dropped_user_agents if part)

    @cached_property
    def _first_uuid(self) -> int:
        since = self.received_at - _EPOCH
        milliseconds = since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
        place = (self.entry_id % (1 << _ENTRY_BITS)) << _INDEX_BITS
        high, low = place >> 62, place & ((1 << 62) - 1)
        return milliseconds << 80 | 7 << 76 | high << 64 | 2 << 62 | low

    def make_uuid(self, index: int) -> UUID:
        """The id of the item at `index` when it brings none: UUID version 7 in form, ordered by
        arrival, and the same again when the envelope is ingested again."""
        return uuid_of(self._first_uuid | index % (1 << _INDEX_BITS))


class Drop(StrEnum):
    """Why an item is not stored. source: capture.md 1.8"""

    NO_NAME = "no_name"
    NO_DISTINCT_ID = "no_distinct_id"
    DIVERTED_EVENT = "diverted_event"
    PERSON_PROFILE_NEEDED = "person_profile_needed"
    USER_AGENT = "user_agent"
    ERASED = "erased"  # its person was deleted, with its events, after it was accepted
    DUPLICATE = "duplicate"


class Prepared(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An event that is to be stored, with all that it means for persons (a
    `persons.merge.PersonCommand`) and groups.

    timestamp:      aware, UTC
    properties:     to be stored; `$group_<index>` is added once the types are known
    update:         None when the event says nothing of its person
    merge:          None when it joins no persons
    groups:         type to key
    group_identify: None when it describes no group
    makes_person:   False for events without a person profile
    ignored_time:   what the client said of the time, when `timestamp` is that of arrival instead

    It is sent to another process as an array, whose last fields are left out when they say nothing.
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
    ignored_time: IgnoredTime | None = None


class Arrived(msgspec.Struct, frozen=True, gc=False):
    """A prepared event with the time at which its envelope was accepted.

    is_named: the client gave the event its id, so that a repetition can be recognised
    """

    prepared: Prepared
    received_at: datetime
    is_named: bool = False
