"""The mapping of columns to the fields of events."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import UNSET, Struct, UnsetType

from fanion.transfer.event_files.ids import given_id, id_of
from fanion.transfer.event_files.model import FileProblem, ImportedEvent, Row, RowRefused
from fanion.transfer.event_files.times import Unit, read_formatted, read_number, read_time

MAPPING_BYTES_MAX = 1024**2
ID_CHARS_MAX = 200
Type = Literal["auto", "text", "number", "boolean", "datetime", "json"]
# Longer ones are numbers of accounts or of phones, which lose digits as numbers.
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_BOOLEANS = {"true": True, "false": False}
_SHOWN_NAMES = 30


class Source(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Where a text comes from: a column, or the same for all rows."""

    column: str | UnsetType = UNSET
    value: str | UnsetType = UNSET


class TimeSource(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The column of the time, and how it is written."""

    column: str
    format: str | UnsetType = UNSET
    zone: str | UnsetType = UNSET
    unit: Unit | UnsetType = UNSET


class PropertySource(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The column of a property."""

    column: str
    type: Type = "auto"


Properties = dict[str, str | PropertySource]


class EventMapping(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which column becomes which field of an event.

    Attributes:
        uuid: Without it, the id of an event derives from its row.
        properties: Without them, all columns that no other field names, except `ignore`.
        person_properties: Set on the person, as `$set`.
        constants: Properties that are the same for all rows.
    """

    event: str | Source
    timestamp: str | TimeSource
    distinct_id: str | Source
    uuid: str | UnsetType = UNSET
    properties: Properties | UnsetType = UNSET
    person_properties: Properties | UnsetType = UNSET
    constants: dict[str, Any] | UnsetType = UNSET
    ignore: list[str] | UnsetType = UNSET


def read_mapping(raw: bytes, name: str) -> EventMapping:
    """Read a mapping.

    Raises:
        FileProblem: It is wrong; the text names the field.
    """
    if len(raw) > MAPPING_BYTES_MAX:
        raise FileProblem(f"{name} has more than {MAPPING_BYTES_MAX} bytes.")
    try:
        mapping = msgspec.json.decode(raw, type=EventMapping)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        allowed = ", ".join(EventMapping.__struct_fields__)
        raise FileProblem(f"{name}: {error}. A mapping has: {allowed}.") from None
    for field, source in (("event", mapping.event), ("distinct_id", mapping.distinct_id)):
        if isinstance(source, Source) and (source.column is UNSET) == (source.value is UNSET):
            raise FileProblem(f"{name}: {field} needs either a column or a value.")
    if isinstance(mapping.timestamp, TimeSource):
        _check_time(mapping.timestamp, name)
    return mapping


def write_mapping(mapping: EventMapping) -> str:
    return msgspec.json.format(msgspec.json.encode(mapping), indent=2).decode()


def read_zone(name: str) -> ZoneInfo:
    """Return a time zone.

    Raises:
        FileProblem: There is none of this name.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise FileProblem(f"{name!r} is not a time zone such as Europe/Berlin.") from None


def _check_time(source: TimeSource, name: str) -> None:
    if source.unit is not UNSET and (source.format is not UNSET or source.zone is not UNSET):
        raise FileProblem(f"{name}: timestamp has a unit, so it has neither format nor zone.")
    if source.zone is not UNSET:
        read_zone(source.zone)


# ── Guesses ──────────────────────────────────────────────────────────────────────────────

_GUESSES = {
    "event": ("event", "eventname", "name", "action", "activity", "eventtype", "type"),
    "timestamp": (
        *("timestamp", "time", "eventtime", "occurredat", "createdat", "datetime", "date", "ts"),
        *("eventtimestamp", "clienteventtime", "receivedat", "sentat"),
    ),
    "distinct_id": (
        *("distinctid", "userid", "user", "uid", "customerid", "accountid", "personid", "email"),
        *("anonymousid", "visitorid", "deviceid", "clientid", "sessionid"),
    ),
    "uuid": ("uuid", "eventid", "insertid", "messageid", "id"),
}
_REQUIRED = ("event", "timestamp", "distinct_id")


class Guess(NamedTuple):
    """A mapping guessed from the names of columns.

    Attributes:
        mapping: None if a required field has no column.
        missing: Required fields without a column.
        is_certain: Whether the columns have the names of the fields.
    """

    mapping: EventMapping | None
    missing: list[str]
    is_certain: bool


def guess_mapping(columns: Sequence[str]) -> Guess:
    by_name = {_plain(column): column for column in reversed(columns)}
    found: dict[str, str] = {}
    for field, names in _GUESSES.items():
        free = (by_name[name] for name in names if name in by_name)
        column = next((column for column in free if column not in found.values()), None)
        if column is not None:
            found[field] = column
    missing = [field for field in _REQUIRED if field not in found]
    mapping = None if missing else msgspec.convert(found, EventMapping)
    return Guess(mapping, missing, all(field in columns for field in _REQUIRED))


def _plain(column: str) -> str:
    return "".join(c for c in column.lower() if c.isalnum())


# ── Rows ─────────────────────────────────────────────────────────────────────────────────


class MappedRows:
    """The events of rows, by a mapping."""

    is_replayed = False

    def __init__(self, mapping: EventMapping, now: datetime, zone: ZoneInfo | None = None) -> None:
        self.mapping, self._now = mapping, now
        self._time = _time_source(mapping.timestamp)
        self._zone = zone if self._time.zone is UNSET else read_zone(self._time.zone)
        self._properties = _sources(mapping.properties)
        self._person = _sources(mapping.person_properties)
        self._constants = {} if mapping.constants is UNSET else mapping.constants
        self._used = self.columns | set([] if mapping.ignore is UNSET else mapping.ignore)

    @property
    def columns(self) -> set[str]:
        """The columns that the mapping names as a field's."""
        mapping = self.mapping
        named = [mapping.event, mapping.distinct_id, self._time.column, mapping.uuid]
        columns = {_column_of(source) for source in named} - {None}
        sources = [*(self._properties or {}).values(), *(self._person or {}).values()]
        return {str(column) for column in columns} | {source.column for source in sources}

    def require_columns(self, name: str, columns: Sequence[str]) -> None:
        """Check that a file has the columns.

        Raises:
            FileProblem: One of them is not there; the text names those that are.
        """
        there = set(columns)
        missing = sorted(c for c in self.columns if c not in there and c.split(".")[0] not in there)
        if missing:
            raise FileProblem(
                f"{name} has no column {missing[0]!r}, which the mapping names; it has: "
                f"{listed(columns)}."
            )

    def events(self, row: Row) -> list[ImportedEvent]:
        """Return the event of a row.

        Raises:
            RowRefused: The row has no event, time or distinct id, or a value of another type.
        """
        fields, mapping = row.fields or {}, self.mapping
        event = text_of(_value(fields, mapping.event), "event")
        distinct_id = text_of(_value(fields, mapping.distinct_id), "distinct_id")
        properties = self._event_properties(fields)
        if self._person:
            properties["$set"] = _typed_values(fields, self._person, self._now)
        given = None if mapping.uuid is UNSET else look_up(fields, mapping.uuid)
        uuid = given_id(given, "row") or id_of("row", str(row.line), row.source)
        return [ImportedEvent(event, self._read_time(fields), uuid, distinct_id, properties)]

    def _event_properties(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        if self._properties is None:
            used = self._used
            values = {
                name: _guessed(value) if type(value) is str else value
                for name, value in fields.items()
                if name not in used and value is not None and value != "" and name
            }
        else:
            values = _typed_values(fields, self._properties, self._now)
        return {**values, **self._constants} if self._constants else values

    def _read_time(self, fields: Mapping[str, Any]) -> datetime:
        source = self._time
        value = look_up(fields, source.column)
        if value is None or value == "":
            raise RowRefused(f"no time in the column {source.column!r}")
        if source.format is not UNSET:
            return read_formatted(value, self._now, source.format, self._zone)
        if source.unit is not UNSET:
            return read_number(value, self._now, source.unit)
        return read_time(value, self._now, self._zone)


def listed(columns: Iterable[str]) -> str:
    names = list(columns)
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more


def look_up(fields: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column; `a.b` is the field b of an object a."""
    if column in fields or "." not in column:
        return fields.get(column)
    value: Any = fields
    for name in column.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_of(value: object, what: str) -> str:
    """Return a name or an id as text.

    Raises:
        RowRefused: There is none, or it is neither a text nor a whole number.
    """
    if type(value) is str:
        if value := value.strip():
            return value
    elif type(value) is int:
        return str(value)
    elif value is not None and value != "":
        raise RowRefused(f"the {what} {value!r:.60} is neither a text nor a whole number")
    raise RowRefused(f"no {what}")


def _time_source(source: str | TimeSource) -> TimeSource:
    return TimeSource(source) if isinstance(source, str) else source


def _column_of(source: object) -> str | None:
    if isinstance(source, Source):
        return None if isinstance(source.column, UnsetType) else source.column
    return source if isinstance(source, str) else None


def _value(fields: Mapping[str, Any], source: str | Source) -> Any:
    if isinstance(source, str):
        return look_up(fields, source)
    return source.value if source.column is UNSET else look_up(fields, source.column)


def _sources(properties: Properties | UnsetType) -> dict[str, PropertySource] | None:
    if isinstance(properties, UnsetType):
        return None
    return {
        name: PropertySource(source) if isinstance(source, str) else source
        for name, source in properties.items()
    }


def _typed_values(
    fields: Mapping[str, Any], sources: Mapping[str, PropertySource], now: datetime
) -> dict[str, Any]:
    values = {}
    for name, source in sources.items():
        value = look_up(fields, source.column)
        if value is not None and value != "":
            values[name] = _typed(value, source, now)
    return values


def _typed(value: Any, source: PropertySource, now: datetime) -> Any:
    kind = source.type
    if kind == "auto":
        return _guessed(value) if type(value) is str else value
    if kind == "text":
        return value if type(value) is str else msgspec.json.encode(value).decode()
    if kind == "datetime":
        return read_time(value, now).isoformat()
    try:
        if kind == "json":
            return msgspec.json.decode(value) if type(value) is str else value
        if kind == "number":
            return _number(value)
        return _BOOLEANS[str(value).strip().lower()]
    except (ValueError, KeyError, msgspec.MsgspecError):
        shown = repr(value)[:60]
        raise RowRefused(f"{shown} in the column {source.column!r} is no {kind}") from None


def _number(value: Any) -> int | float:
    if isinstance(value, int | float):
        return value
    text = str(value).strip()
    number = int(text) if text.lstrip("+-").isdigit() else float(text)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError
    return number


def _guessed(text: str) -> Any:
    """Return the number or truth value that a text is; other texts stay."""
    if len(text) > 32:
        return text
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return _BOOLEANS.get(text.lower(), text)
