"""Events as Amplitude's Export API has them: an archive of gzipped JSON lines.

Source: amplitude.com/docs/apis/analytics/export.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from fanion.transfer.event_files.formats.identities import Identities
from fanion.transfer.event_files.formats.posthog import object_of
from fanion.transfer.event_files.ids import given_id, id_of
from fanion.transfer.event_files.mapping import text_of
from fanion.transfer.event_files.model import ImportedEvent, Row, RowRefused
from fanion.transfer.event_files.times import read_time

_EVENTS = {"[Amplitude] Page Viewed": "$pageview", "$identify": "$set"}
_FIELDS = {
    "os_name": "$os",
    "os_version": "$os_version",
    "device_id": "$device_id",
    "device_manufacturer": "$device_manufacturer",
    "device_model": "$device_model",
    "device_type": "device_type",
    "platform": "platform",
    "library": "$lib",
    "version_name": "$app_version",
    "language": "$browser_language",
    "city": "$geoip_city_name",
    "region": "$geoip_subdivision_1_name",
    "country": "$geoip_country_name",
    "ip_address": "$ip",
}
_NAMES = {
    "[Amplitude] Page Location": "$current_url",
    "[Amplitude] Page URL": "$current_url",
    "[Amplitude] Page Domain": "$host",
    "[Amplitude] Page Path": "$pathname",
    "[Amplitude] Page Title": "title",
    "referrer": "$referrer",
    "referring_domain": "$referring_domain",
}
_TIMES = ("event_time", "client_event_time")  # the first is right whatever the client's clock was


class AmplitudeRows:
    """The events of rows, and those that join devices and users."""

    is_replayed = True

    def __init__(self, now: datetime, zone: ZoneInfo | None = None) -> None:
        self._now, self._zone = now, zone
        self._identities = Identities("amplitude")

    def events(self, row: Row) -> list[ImportedEvent]:
        """Return the event of a row, before it the one that joins its device and its user.

        Raises:
            RowRefused: It has no event, time, user or device, or one that cannot be read.
        """
        fields = row.fields or {}
        event = text_of(fields.get("event_type"), "event_type")
        time = next((fields[name] for name in _TIMES if fields.get(name)), None)
        if time is None:
            raise RowRefused("no event_time")
        at = read_time(time, self._now, self._zone)
        user, device = fields.get("user_id"), fields.get("device_id")
        distinct_id = text_of(user or device or fields.get("amplitude_id"), "user_id or device_id")
        joined: list[ImportedEvent] = []
        if user and isinstance(device, str) and device:
            joined = self._identities.joined(device, distinct_id, at)
        uuid = _id_of(fields, row)
        properties = _properties(fields)
        return [
            *joined,
            ImportedEvent(_EVENTS.get(event, event), at, uuid, distinct_id, properties),
        ]


def _id_of(fields: Mapping[str, Any], row: Row) -> Any:
    if given := given_id(fields.get("uuid"), "amplitude"):
        return given
    insert_id = fields.get("$insert_id")
    if insert_id:  # unique within a device
        return id_of("amplitude", str(fields.get("device_id")), str(insert_id))
    return id_of("amplitude", str(row.line), row.source)


def _properties(fields: Mapping[str, Any]) -> dict[str, Any]:
    properties = {
        _NAMES.get(name, name): value
        for name, value in object_of(fields, "event_properties").items()
    }
    for field, name in _FIELDS.items():
        value = fields.get(field)
        if value is not None and value != "":
            properties.setdefault(name, value)
    session = fields.get("session_id")
    if isinstance(session, int) and session > 0:  # the beginning of a session of a device
        properties["$session_id"] = str(
            id_of("amplitude session", str(fields.get("device_id")), str(session))
        )
    if groups := _groups(object_of(fields, "groups")):
        properties["$groups"] = groups
    user_properties = object_of(fields, "user_properties")
    if to_set := {name: value for name, value in user_properties.items() if value is not None}:
        properties["$set"] = to_set
    return properties


def _groups(groups: Mapping[str, Any]) -> dict[str, Any]:
    """Return one group of each type, as events have them here."""
    firsts = {
        kind: keys[0] if isinstance(keys, list) and keys else keys for kind, keys in groups.items()
    }
    return {kind: key for kind, key in firsts.items() if key and not isinstance(key, list)}
