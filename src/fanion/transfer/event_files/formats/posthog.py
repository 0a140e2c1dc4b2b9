"""Events as PostHog's batch exports and lists of events have them, and as Fanion exports them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from fanion.transfer.event_files.ids import given_id, id_of
from fanion.transfer.event_files.mapping import text_of
from fanion.transfer.event_files.model import ImportedEvent, Row, RowRefused
from fanion.transfer.event_files.times import read_time
from fanion.transfer.posthog.event_items import own_properties

# Of a person before its event, beside `properties`.
_UPDATES = {"set": "$set", "set_once": "$set_once"}


class PosthogRows:
    """The events of rows with `uuid`, `event`, `distinct_id`, `timestamp` and `properties`."""

    is_replayed = False

    def __init__(self, now: datetime, zone: ZoneInfo | None = None) -> None:
        self._now, self._zone = now, zone

    def events(self, row: Row) -> list[ImportedEvent]:
        """Return the event of a row.

        Raises:
            RowRefused: It has no event, time or distinct id, or one that cannot be read.
        """
        fields = row.fields or {}
        uuid = given_id(fields.get("uuid") or fields.get("id"), "posthog")
        return [
            ImportedEvent(
                text_of(fields.get("event"), "event"),
                read_time(_required(fields, "timestamp"), self._now, self._zone),
                uuid or id_of("posthog", str(row.line), row.source),
                text_of(fields.get("distinct_id"), "distinct_id"),
                _properties(fields),
            )
        ]


def _properties(fields: Mapping[str, Any]) -> dict[str, Any]:
    chain = fields.get("elements_chain") or fields.get("elements")
    properties = own_properties(
        object_of(fields, "properties"),
        chain if isinstance(chain, str) and not chain.startswith("[") else None,
    )
    for column, name in _UPDATES.items():
        if name not in properties and (update := object_of(fields, column)):
            properties[name] = update
    return properties


def object_of(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an object, or one that is written as a text; {} if there is none.

    Raises:
        RowRefused: It is something else.
    """
    value = fields.get(name)
    if type(value) is str and value:
        try:
            value = msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RowRefused(f"{name} is not JSON: {error}") from None
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise RowRefused(f"{name} is not an object")
    return value


def _required(fields: Mapping[str, Any], name: str) -> Any:
    value = fields.get(name)
    if value is None or value == "":
        raise RowRefused(f"no {name}")
    return value
