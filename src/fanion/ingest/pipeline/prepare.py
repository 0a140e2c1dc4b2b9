"""The normalisation of a sent item into the event to store, or into a reason to drop it.

`prepare` does all steps in order. Functions that few items need are not called for the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any
from uuid import UUID

import msgspec

from fanion.events.event import uuid_of
from fanion.groups.model import read_group_identify, read_groups
from fanion.ingest.event import Drop, PreparedEvent
from fanion.ingest.items import UNREADABLE_SENT_AT, elements_chain, parse_uuid
from fanion.ingest.timestamps import IgnoredTime, event_time, ignored_sent_at, ignored_times
from fanion.persons.merge import Merge, MergeKind, PersonUpdate
from fanion.persons.timeline.automatic import AUTOMATIC, automatic_properties, initial_name
from fanion.projects.model import DEFAULT_INGESTION, IngestionSettings
from fanion.wire.distinct_id import stored_distinct_id

GeoIp = Callable[[str], Mapping[str, object]]

_ENTRY_BITS, _INDEX_BITS = 50, 24
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Context:
    """The data that the items of one envelope share. Times are aware, in UTC.

    Attributes:
        entry_id: The envelope's id in the accept log.
        geoip: Returns the `$geoip_…` properties of an address; {} if it is unknown.
    """

    project_id: int
    entry_id: int
    received_at: datetime
    sent_at: datetime | None = None
    client_ip: str = ""
    user_agent: str = ""
    rules: IngestionSettings = DEFAULT_INGESTION
    geoip: GeoIp | None = None

    @cached_property
    def sent_at_text(self) -> str | None:
        return None if self.sent_at is None else self.sent_at.isoformat()

    @cached_property
    def dropped_user_agents(self) -> tuple[str, ...]:
        return tuple(part.lower() for part in self.rules.dropped_user_agents if part)

    @cached_property
    def removed_properties(self) -> frozenset[str]:
        return frozenset(self.rules.removed_properties)

    @cached_property
    def _first_uuid(self) -> int:
        since = self.received_at - _EPOCH
        milliseconds = since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
        sequence = (self.entry_id % (1 << _ENTRY_BITS)) << _INDEX_BITS
        high, low = sequence >> 62, sequence & ((1 << 62) - 1)
        return milliseconds << 80 | 7 << 76 | high << 64 | 2 << 62 | low

    def make_uuid(self, index: int) -> UUID:
        """Return the id of the item at `index`, if it has none of its own.

        It is a UUID of version 7, ordered by arrival, and the same whenever the envelope is
        ingested again.
        """
        return uuid_of(self._first_uuid | index % (1 << _INDEX_BITS))


NAME_MAX = 200  # characters

_DIVERTED = frozenset(["$performance_event", "$$client_ingestion_warning", "$$heatmap"])
_GROUP_IDENTIFY = "$groupidentify"
_NEED_PERSON = frozenset(["$identify", "$create_alias", "$merge_dangerously", _GROUP_IDENTIFY])
_OTHER_ID = {
    "$identify": (MergeKind.IDENTIFY, "$anon_distinct_id"),
    "$create_alias": (MergeKind.ALIAS, "alias"),
    "$merge_dangerously": (MergeKind.DANGEROUSLY, "alias"),
}
# An event that changes its person has at least one of these.
_UPDATING = frozenset(["$set", "$set_once", "$unset", *AUTOMATIC])
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NO_GROUPS: Mapping[str, str] = {}  # a plain dict, so that it can be sent to another process

_encode = msgspec.json.Encoder().encode


def prepare(item: Mapping[str, Any], context: Context, index: int = 0) -> PreparedEvent | Drop:
    """Normalise one item of an envelope. Never raises because of what a client sent.

    Args:
        item: Its `properties` are an object, null or missing. It is not changed.
        index: Its place in the envelope.
    """
    properties: dict[str, Any] = dict(item.get("properties") or _NOTHING)
    name = item.get("event")
    if name is None or name == "":
        return Drop.NO_NAME
    name = _event_name(name)
    if name in _DIVERTED:
        return Drop.DIVERTED_EVENT
    distinct_id = distinct_id_of(item)
    if not distinct_id:
        return Drop.NO_DISTINCT_ID
    if context.dropped_user_agents and _is_unwanted(properties, context):
        return Drop.USER_AGENT
    makes_person = "$process_person_profile" not in properties or _makes_person(properties)
    if not makes_person and name in _NEED_PERSON:
        return Drop.PERSON_PROFILE_NEEDED
    given = item.get("uuid")
    uuid = (parse_uuid(given) if given else None) or context.make_uuid(index)
    timestamp = event_time(item, properties, context.received_at, context.sent_at)
    ignored: tuple[IgnoredTime, ...] = ()
    if timestamp is context.received_at and ("timestamp" in item or "offset" in item):
        ignored = ignored_times(item, properties, timestamp, context.sent_at)
    if UNREADABLE_SENT_AT in item:
        ignored = (*ignored, ignored_sent_at(item[UNREADABLE_SENT_AT]))
    if context.sent_at is not None:
        properties["$sent_at"] = context.sent_at_text
    geoip = _locate(properties, context)
    if "$elements" in properties:
        _replace_elements(properties)
    if context.rules.removed_properties:
        _remove_properties(properties, context)
    update = merge = group_identify = None
    groups = _NO_GROUPS
    is_group_identify = name == _GROUP_IDENTIFY
    if not makes_person or is_group_identify:  # what they set would not belong to the person
        _remove_update(properties)
    elif geoip or not (_UPDATING.isdisjoint(properties) and _UPDATING.isdisjoint(item)):
        update = _person_update(name, item, properties, geoip, context)
    if makes_person:
        if name in _OTHER_ID:
            merge = _merge_command(name, properties)
        if "$groups" in properties:
            groups = read_groups(properties["$groups"]) or _NO_GROUPS
        if is_group_identify:
            group_identify = read_group_identify(properties, timestamp)
    return PreparedEvent(
        name,
        uuid,
        distinct_id,
        timestamp,
        properties,
        makes_person,
        update,
        merge,
        groups,
        group_identify,
        ignored,
    )


def distinct_id_of(item: Mapping[str, Any]) -> str:
    """Return the distinct id under which an item is stored; "" if it has none."""
    properties = item.get("properties") or _NOTHING
    given = item.get("$distinct_id") or properties.get("distinct_id") or item.get("distinct_id")
    return stored_distinct_id(given) if given else ""


def _is_unwanted(properties: Mapping[str, Any], context: Context) -> bool:
    given = properties.get("$raw_user_agent") or properties.get("$user_agent")
    user_agent = (given if isinstance(given, str) else context.user_agent).lower()
    return any(part in user_agent for part in context.dropped_user_agents)


def _makes_person(properties: dict[str, Any]) -> bool:
    """Return whether the event has a person profile. Only the boolean false means that it has none.

    Source: capture.md 4.1.
    """
    if properties["$process_person_profile"] is True:
        del properties["$process_person_profile"]
        return True
    return properties["$process_person_profile"] is not False


def _locate(properties: dict[str, Any], context: Context) -> Mapping[str, Any]:
    """Add GeoIP properties of the address to the event, and return them.

    A client's own `$ip` is kept. The address is looked up before it is discarded.
    """
    address = properties.get("$ip") or context.client_ip
    geoip = _NOTHING
    if context.geoip and address and properties.get("$geoip_disable") is not True:
        located = context.geoip(str(address))
        geoip = {
            name: value for name, value in located.items() if name not in context.removed_properties
        }
        properties.update(geoip)
    if context.rules.anonymize_ips:
        properties.pop("$ip", None)
    elif address:
        properties["$ip"] = address
    return geoip


def _replace_elements(properties: dict[str, Any]) -> None:
    elements = properties["$elements"]
    if isinstance(elements, list):
        del properties["$elements"]
        properties.setdefault("$elements_chain", elements_chain(elements))


def _remove_properties(properties: dict[str, Any], context: Context) -> None:
    for name in context.rules.removed_properties:
        properties.pop(name, None)


def _person_update(
    event: str,
    item: Mapping[str, Any],
    properties: dict[str, Any],
    geoip: Mapping[str, Any],
    context: Context,
) -> PersonUpdate | None:
    """Return the update of the person.

    Explicit values override automatic ones; nulls in `$set_once` are ignored.
    """
    explicit = _merge_explicit("$set", item, properties, context)
    explicit_once = _merge_explicit("$set_once", item, properties, context)
    to_set, set_once = automatic_properties(event, properties)
    if geoip:
        to_set.update(geoip)
        set_once.update((initial_name(name), value) for name, value in geoip.items())
    if explicit:
        to_set.update(explicit)
    if explicit_once:
        set_once.update(pair for pair in explicit_once.items() if pair[1] is not None)
    unset = _text_items(properties["$unset"]) if "$unset" in properties else ()
    return PersonUpdate(to_set, set_once, unset) if to_set or set_once or unset else None


def _remove_update(properties: dict[str, Any]) -> None:
    for name in ("$set", "$set_once", "$unset"):
        properties.pop(name, None)


def _merge_command(event: str, properties: Mapping[str, Any]) -> Merge | None:
    kind, name = _OTHER_ID[event]
    other = properties.get(name)
    return Merge(kind, stored_distinct_id(other)) if other else None


def _event_name(value: object) -> str:
    text = value if type(value) is str else _encode(value).decode()
    return text[:NAME_MAX].replace("\0", "\ufffd")


def _merge_explicit(
    name: str, item: Mapping[str, Any], properties: dict[str, Any], context: Context
) -> Mapping[str, Any]:
    """Merge the object `name` of the properties with that of the item, which wins.

    The result is stored in the properties.
    """
    if name not in properties and name not in item:
        return _NOTHING
    merged: dict[str, Any] = {}
    for given in (properties.get(name), item.get(name)):
        if isinstance(given, dict):
            merged.update(given)
    if not merged:
        return _NOTHING
    for removed in context.rules.removed_properties:
        merged.pop(removed, None)
    properties[name] = merged
    return merged


def _text_items(unset: object) -> tuple[str, ...]:
    if not isinstance(unset, list | dict):
        return ()
    return tuple(name for name in unset if isinstance(name, str))
