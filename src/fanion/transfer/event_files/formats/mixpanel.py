"""Events as Mixpanel's raw export has them: `{"event": …, "properties": {…}}`.

Source: docs.mixpanel.com/reference/raw-event-export; its advice on repeated events.
"""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from fanion.transfer.event_files.formats.identities import Identities
from fanion.transfer.event_files.formats.posthog import object_of
from fanion.transfer.event_files.ids import id_of
from fanion.transfer.event_files.mapping import text_of
from fanion.transfer.event_files.model import ImportedEvent, Row, RowRefused
from fanion.transfer.event_files.times import in_zone, read_time

_EVENTS = {"$mp_web_page_view": "$pageview"}
_NAMES = {
    "$city": "$geoip_city_name",
    "$region": "$geoip_subdivision_1_name",
    "mp_country_code": "$geoip_country_code",
    "mp_lib": "$lib",
    "current_domain": "$host",
    "current_url_path": "$pathname",
    "current_page_title": "title",
}
_LEFT_OUT = ("time", "distinct_id", "token")
_DEVICE = "$device:"  # how Mixpanel marks the distinct id of a device


class MixpanelRows:
    """The events of rows, and those that join devices and users.

    Args:
        zone: In which the times of projects from before 2023 are, as if it were UTC.
    """

    is_replayed = True

    def __init__(self, now: datetime, zone: ZoneInfo | None = None) -> None:
        self._now, self._zone = now, zone
        self._identities = Identities("mixpanel")

    def events(self, row: Row) -> list[ImportedEvent]:
        """Return the event of a row, before it the one that joins its device and its user.

        Raises:
            RowRefused: It has no event, time or distinct id, or one that cannot be read.
        """
        fields = row.fields or {}
        properties = dict(object_of(fields, "properties"))
        event = text_of(fields.get("event"), "event")
        distinct_id = text_of(properties.get("distinct_id"), "properties.distinct_id")
        time, insert_id = properties.get("time"), properties.get("$insert_id")
        if time is None:
            raise RowRefused("no properties.time")
        at = in_zone(read_time(time, self._now), self._zone)
        if isinstance(insert_id, str) and insert_id:
            uuid = id_of("mixpanel", event, distinct_id, str(time), insert_id)
        else:
            uuid = id_of("mixpanel", str(row.line), row.source)
        user, device = properties.get("$user_id"), properties.get("$device_id")
        joined: list[ImportedEvent] = []
        if isinstance(device, str) and device and user == distinct_id:
            joined = self._identities.joined(_DEVICE + device, distinct_id, at)
        own = {
            _NAMES.get(name, name): value
            for name, value in properties.items()
            if name not in _LEFT_OUT
        }
        made = ImportedEvent(_EVENTS.get(event, event), at, uuid, distinct_id, own)
        return [*joined, _as_merge(made, properties)]


def _as_merge(event: ImportedEvent, properties: dict[str, Any]) -> ImportedEvent:
    """Return an event of Mixpanel that joins two ids in the form that joins them here."""
    if event.event == "$identify":
        user, anonymous = properties.get("$identified_id"), properties.get("$anon_id")
        if isinstance(user, str) and user and isinstance(anonymous, str):
            event.distinct_id = user
            event.properties["$anon_distinct_id"] = anonymous
    elif event.event == "$merge":
        match properties.get("$distinct_ids"):
            case [str(first), str(second)] if first and second:
                event.event, event.distinct_id = "$merge_dangerously", first
                event.properties["alias"] = second
    return event
