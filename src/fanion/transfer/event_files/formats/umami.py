"""Events as Umami's database has them: `website_event`, `session`, `event_data`, `session_data`.

Source: db/postgresql and db/clickhouse of umami-software/umami, in the names of versions 1.38 to 2.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol
from zoneinfo import ZoneInfo

from fanion.transfer.event_files.ids import given_id, id_of
from fanion.transfer.event_files.mapping import text_of
from fanion.transfer.event_files.model import ImportedEvent, Row, RowRefused
from fanion.transfer.event_files.times import read_time

TableKind = Literal["event", "session", "event_data", "session_data"]
_FIELDS = {
    "hostname": "$host",
    "url_path": "$pathname",
    "page_title": "title",
    "referrer_domain": "$referring_domain",
    "visit_id": "$session_id",
    "browser": "$browser",
    "os": "$os",
    "language": "$browser_language",
    "country": "$geoip_country_code",
    "subdivision1": "$geoip_subdivision_1_code",
    "region": "$geoip_subdivision_1_code",
    "city": "$geoip_city_name",
    "tag": "tag",
    **{name: name for name in ("utm_source", "utm_medium", "utm_campaign", "utm_content")},
    **{name: name for name in ("utm_term", "gclid", "fbclid", "msclkid", "ttclid", "twclid")},
}
_DEVICES = {"desktop": "Desktop", "laptop": "Desktop", "mobile": "Mobile", "tablet": "Tablet"}
_NUMBER, _BOOLEAN, _DATE = "2", "3", "4"  # of data_type; 1 is a text, 5 a list as JSON


class SideTables(Protocol):
    """The rows of the other tables, by the id of an event or of a session."""

    def values(self, kind: TableKind, key: str) -> Mapping[str, Any]: ...


def table_of(columns: Sequence[str]) -> TableKind | None:
    """Return which table has these columns; None for one that has nothing of events."""
    names = set(columns)
    if "created_at" in names and "url_path" in names and not names & {"data_key", "event_key"}:
        return "event"
    if names & {"data_key", "event_key"}:
        return "event_data" if names & {"website_event_id", "event_id"} else "session_data"
    return "session" if {"session_id", "browser"} <= names else None


def data_of(kind: TableKind, row: Mapping[str, str]) -> tuple[str, dict[str, Any]] | None:
    """Return the id to which a row of another table belongs, and its values."""
    if kind == "session":
        values = {name: value for name, value in row.items() if value}
        return (row["session_id"], values) if row.get("session_id") else None
    is_event = kind == "event_data"
    key = (row.get("website_event_id") or row.get("event_id")) if is_event else row["session_id"]
    name = row.get("data_key") or row.get("event_key")
    return (key, {name: _typed(row)}) if key and name else None


def _typed(row: Mapping[str, str]) -> Any:
    kind = row.get("data_type") or row.get("event_data_type") or ""
    number = row.get("number_value") or row.get("numeric_value") or row.get("event_numeric_value")
    text = row.get("string_value") or row.get("event_string_value") or ""
    if kind == _NUMBER and (given := number or text):
        try:
            value = float(given)
        except ValueError:
            return given
        return int(value) if value.is_integer() else value
    if kind == _BOOLEAN:
        return text.lower() == "true"
    return (row.get("date_value") or row.get("event_date_value") or text) if kind == _DATE else text


class UmamiRows:
    """The events of rows of `website_event`.

    Args:
        website: The only website whose events are taken; "" for all.
    """

    is_replayed = False

    def __init__(
        self, now: datetime, tables: SideTables, website: str = "", zone: ZoneInfo | None = None
    ) -> None:
        self._now, self._tables, self._website, self._zone = now, tables, website, zone

    def events(self, row: Row) -> list[ImportedEvent]:
        """Return the event of a row; [] if it is one of another website.

        Raises:
            RowRefused: It has no time or session, or one that cannot be read.
        """
        fields = row.fields or {}
        if self._website and fields.get("website_id") != self._website:
            return []
        if not fields.get("created_at"):
            raise RowRefused("no created_at")
        session_id = text_of(fields.get("session_id"), "session_id")
        session = self._tables.values("session", session_id)
        all_fields = {**session, **{name: value for name, value in fields.items() if value}}
        distinct_id = all_fields.get("distinct_id") or session_id
        event_id = fields.get("event_id") or ""
        properties = _properties(all_fields)
        properties.update(self._tables.values("event_data", event_id) if event_id else {})
        if person := self._tables.values("session_data", session_id):
            properties["$set"] = dict(person)
        elif distinct_id == session_id:  # a visitor whom nobody knows
            properties["$process_person_profile"] = False
        return [
            ImportedEvent(
                fields.get("event_name") or "$pageview",
                read_time(fields["created_at"], self._now, self._zone),
                given_id(event_id, "umami") or id_of("umami", str(row.line), row.source),
                distinct_id,
                properties,
            )
        ]


def _properties(fields: Mapping[str, Any]) -> dict[str, Any]:
    properties = {name: fields[field] for field, name in _FIELDS.items() if fields.get(field)}
    if device := fields.get("device"):
        properties["$device_type"] = _DEVICES.get(device, device)
    width, _, height = str(fields.get("screen") or "").partition("x")
    if width.isdigit() and height.isdigit():
        properties["$screen_width"], properties["$screen_height"] = int(width), int(height)
    if (host := fields.get("hostname")) and (path := fields.get("url_path")):
        properties["$current_url"] = _url(host, path, fields.get("url_query"))
    if domain := fields.get("referrer_domain"):
        path = fields.get("referrer_path") or "/"
        properties["$referrer"] = _url(domain, path, fields.get("referrer_query"))
    return properties


def _url(host: str, path: str, query: str | None) -> str:
    return f"https://{host}{path}{f'?{query}' if query else ''}"
