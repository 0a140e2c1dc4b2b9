"""From an item as sent to the event that is stored, or the reason to drop it.

`prepare` is the whole story, in order. A step changes the draft, or returns a Drop; those that few
items need are not called for the others.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

import msgspec

from fanion.groups.types import GroupIdentify, read_group_identify, read_groups
from fanion.ingest.automatic import AUTOMATIC, automatic_properties, initial_name
from fanion.ingest.elements import elements_chain
from fanion.ingest.items import parse_uuid
from fanion.ingest.prepared import Context, Drop, Prepared
from fanion.ingest.timestamps import event_time
from fanion.persons.merge import Merge, MergeKind, PersonUpdate

NAME_MAX = 200  # characters
DISTINCT_ID_MAX = 200

_DIVERTED = frozenset(["$performance_event", "$$client_ingestion_warning", "$$heatmap"])
_GROUP_IDENTIFY = "$groupidentify"
_NEED_PERSON = frozenset(["$identify", "$create_alias", "$merge_dangerously", _GROUP_IDENTIFY])
_OTHER_ID = {
    "$identify": (MergeKind.IDENTIFY, "$anon_distinct_id"),
    "$create_alias": (MergeKind.ALIAS, "alias"),
    "$merge_dangerously": (MergeKind.DANGEROUSLY, "alias"),
}
# What an event that changes its person brings, one of these at least.
_UPDATING = frozenset(["$set", "$set_once", "$unset", *AUTOMATIC])
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NO_GROUPS: Mapping[str, str] = {}  # plain, so that it can be sent to another process
_NO_UUID, _NO_TIME = UUID(int=0), datetime.min.replace(tzinfo=UTC)

_encode = msgspec.json.Encoder().encode


class _Draft(msgspec.Struct, gc=False):
    """An item on its way; `properties` is its own copy."""

    item: Mapping[str, Any]
    index: int
    properties: dict[str, Any]
    name: str = ""
    distinct_id: str = ""
    uuid: UUID = _NO_UUID
    timestamp: datetime = _NO_TIME
    geoip: Mapping[str, Any] = _NOTHING
    makes_person: bool = True
    update: PersonUpdate | None = None
    merge: Merge | None = None
    groups: Mapping[str, str] = _NO_GROUPS
    group_identify: GroupIdentify | None = None


def prepare(item: Mapping[str, Any], context: Context, index: int = 0) -> Prepared | Drop:
    """Normalise one item of an envelope; never raises for what a client sent.

    item:  with `properties` an object, null or missing; it is not changed
    index: its place in the envelope
    """
    properties = dict(item.get("properties") or _NOTHING)
    draft = _Draft(item, index, properties)
    drop = _read_name(draft) or _read_distinct_id(draft)
    if drop is None and context.dropped_user_agents:
        drop = _check_user_agent(draft, context)
    if drop is None and "$process_person_profile" in properties:
        drop = _check_person_profile(draft)
    if drop is not None:
        return drop
    _read_uuid(draft, context)
    _read_time(draft, context)
    _locate(draft, context)
    if "$elements" in properties:
        _read_elements(draft)
    if context.rules.removed_properties:
        _remove_properties(draft, context)
    if draft.makes_person:
        _read_update(draft, context)
        if draft.name in _OTHER_ID:
            _read_merge(draft)
        if "$groups" in properties or draft.name == _GROUP_IDENTIFY:
            _read_groups(draft)
    else:
        _forget_update(draft)
    return Prepared(
        draft.name,
        draft.uuid,
        draft.distinct_id,
        draft.timestamp,
        draft.properties,
        draft.update,
        draft.merge,
        draft.groups,
        draft.group_identify,
        draft.makes_person,
    )


def distinct_id_of(item: Mapping[str, Any]) -> str:
    """Under which an item is stored; "" when it has none."""
    properties = item.get("properties") or _NOTHING
    given = item.get("$distinct_id") or properties.get("distinct_id") or item.get("distinct_id")
    return _cut(given, DISTINCT_ID_MAX) if given else ""


def _read_name(draft: _Draft) -> Drop | None:
    name = draft.item.get("event")
    if name is None or name == "":
        return Drop.NO_NAME
    draft.name = _cut(name, NAME_MAX)
    return Drop.DIVERTED_EVENT if draft.name in _DIVERTED else None


def _read_distinct_id(draft: _Draft) -> Drop | None:
    draft.distinct_id = distinct_id_of(draft.item)
    return None if draft.distinct_id else Drop.NO_DISTINCT_ID


def _check_user_agent(draft: _Draft, context: Context) -> Drop | None:
    properties = draft.properties
    given = properties.get("$raw_user_agent") or properties.get("$user_agent")
    user_agent = (given if isinstance(given, str) else context.user_agent).lower()
    unwanted = any(part in user_agent for part in context.dropped_user_agents)
    return Drop.USER_AGENT if unwanted else None


def _check_person_profile(draft: _Draft) -> Drop | None:
    """Only the boolean false counts. source: capture.md 4.1"""
    wanted = draft.properties.get("$process_person_profile")
    if wanted is True:
        del draft.properties["$process_person_profile"]
    elif wanted is False:
        draft.makes_person = False
        if draft.name in _NEED_PERSON:
            return Drop.PERSON_PROFILE_NEEDED
    return None


def _read_uuid(draft: _Draft, context: Context) -> None:
    given = draft.item.get("uuid")
    uuid = parse_uuid(given) if given else None
    draft.uuid = context.make_uuid(draft.index) if uuid is None else uuid


def _read_time(draft: _Draft, context: Context) -> None:
    properties, sent_at = draft.properties, context.sent_at
    draft.timestamp = event_time(draft.item, properties, context.received_at, sent_at)
    if sent_at is not None:
        properties["$sent_at"] = context.sent_at_text


def _locate(draft: _Draft, context: Context) -> None:
    """A client's own `$ip` is kept; a place is looked up before the address is discarded."""
    properties = draft.properties
    address = properties.get("$ip") or context.client_ip
    if context.geoip and address and properties.get("$geoip_disable") is not True:
        removed = context.rules.removed_properties
        place = context.geoip(str(address))
        draft.geoip = {name: value for name, value in place.items() if name not in removed}
        properties.update(draft.geoip)
    if context.rules.anonymize_ips:
        properties.pop("$ip", None)
    elif address:
        properties["$ip"] = address


def _read_elements(draft: _Draft) -> None:
    elements = draft.properties.get("$elements")
    if isinstance(elements, list):
        del draft.properties["$elements"]
        draft.properties.setdefault("$elements_chain", elements_chain(elements))


def _remove_properties(draft: _Draft, context: Context) -> None:
    for name in context.rules.removed_properties:
        draft.properties.pop(name, None)


def _read_update(draft: _Draft, context: Context) -> None:
    """Explicit values win over the automatic ones; nulls in `$set_once` set nothing."""
    properties = draft.properties
    if _UPDATING.isdisjoint(properties) and _UPDATING.isdisjoint(draft.item) and not draft.geoip:
        return
    explicit = _explicit(draft, "$set", context)
    explicit_once = _explicit(draft, "$set_once", context)
    to_set, set_once = automatic_properties(draft.name, properties)
    if draft.geoip:
        to_set.update(draft.geoip)
        set_once.update((initial_name(name), value) for name, value in draft.geoip.items())
    if explicit:
        to_set.update(explicit)
    if explicit_once:
        set_once.update(item for item in explicit_once.items() if item[1] is not None)
    unset = _names(properties["$unset"]) if "$unset" in properties else ()
    if to_set or set_once or unset:
        draft.update = PersonUpdate(to_set, set_once, unset)


def _forget_update(draft: _Draft) -> None:
    for name in ("$set", "$set_once", "$unset"):
        draft.properties.pop(name, None)


def _read_merge(draft: _Draft) -> None:
    kind, name = _OTHER_ID[draft.name]
    if other := draft.properties.get(name):
        draft.merge = Merge(kind, _cut(other, DISTINCT_ID_MAX))


def _read_groups(draft: _Draft) -> None:
    if groups := draft.properties.get("$groups"):
        draft.groups = read_groups(groups)
    if draft.name == _GROUP_IDENTIFY:
        draft.group_identify = read_group_identify(draft.properties, draft.timestamp)


def _cut(value: object, length: int) -> str:
    """Values that are no text become their JSON text; databases take no NUL."""
    text = value if type(value) is str else _encode(value).decode()
    return text[:length].replace("\0", "\ufffd")


def _explicit(draft: _Draft, name: str, context: Context) -> Mapping[str, Any]:
    """The object `name` of the properties overlaid by the item's own; stored as that."""
    if name not in draft.properties and name not in draft.item:
        return _NOTHING
    merged: dict[str, Any] = {}
    for given in (draft.properties.get(name), draft.item.get(name)):
        if isinstance(given, dict):
            merged.update(given)
    if not merged:
        return _NOTHING
    for removed in context.rules.removed_properties:
        merged.pop(removed, None)
    draft.properties[name] = merged
    return merged


def _names(unset: object) -> tuple[str, ...]:
    if not isinstance(unset, list | dict):
        return ()
    return tuple(name for name in unset if isinstance(name, str))
