"""Parsing of an `ActorsQuery` of newer clients: who is behind a number, as rows of columns.

Source: insights.md, section 13.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from fanion.errors import Invalid
from fanion.insights.actors.result import ActorBody
from fanion.insights.kinds.service import ACTORS_BY_QUESTION, KINDS, fields_of_query
from fanion.insights.parsing.fields import Fields, join_place
from fanion.insights.parsing.translation import unwrap_query
from fanion.rest.pagination import OFFSET_MAX, ROWS
from fanion.rest.unknown_fields import is_idle, no_choice, require_known

ROWS_MAX: Final = 1_000
COLUMNS_MAX: Final = 50
SELECT_DEFAULT: Final = ("actor",)

Order = Literal["", "event_count", "created_at DESC", "created_at", "id", "id DESC"]

_NODE: Final = frozenset({"kind", "response", "version", "tags", "modifiers", "name"})
_LIST_NAMES: Final = _NODE | {"source", "select", "search", "orderBy", "limit", "offset"}
_UNUSED: Final = frozenset({"properties", "fixedProperties"})
# Maps the kind of a source to its names. Recordings do not exist here.
_SOURCES: Final[Mapping[str, frozenset[str]]] = {
    actors.source.kind: actors.source.names for actors in ACTORS_BY_QUESTION.values()
}
# Maps the kind of a question to the names of its place: here, and in `filters`.
_PLACES: Final[Mapping[str, Mapping[str, str]]] = {
    kind.name: kind.actors.newer for kind in KINDS if kind.actors is not None
}
_ORDERS: Final[Mapping[str, Order]] = {
    "event_count DESC": "",
    "event_count": "event_count",
    "created_at DESC": "created_at DESC",
    "created_at": "created_at",
    "id": "id",
    "id DESC": "id DESC",
}


@dataclass(frozen=True, slots=True)
class NewerActorsQuery:
    """An ActorsQuery whose question is in the names of `filters`.

    Attributes:
        sent: The question and the place.
        places: The place of each name in the request, as in `Fields`.
        at: The place of the question in the request.
    """

    sent: Mapping[str, Any]
    places: Mapping[str, str]
    at: str
    select: tuple[str, ...]
    order: Order
    search: str
    limit: int
    offset: int


def read_actors_query(fields: Fields) -> NewerActorsQuery:
    sent = fields.values
    require_known(sent, _LIST_NAMES | _UNUSED, fields.at)
    for name in _UNUSED:
        if not is_idle(sent.get(name)):
            detail = f"ActorsQuery with {name} is not supported. Set it in the source."
            raise fields.error(name, detail)
    values, places, at = _source(sent.get("source"), fields.place("source"))
    limit, offset = fields.whole("limit", 0, 2**31), fields.whole("offset", 0, OFFSET_MAX)
    return NewerActorsQuery(
        values,
        places,
        at,
        _select(fields),
        _order(fields),
        (fields.text("search") or "").strip(),
        min(limit or ROWS, ROWS_MAX),
        offset or 0,
    )


def _source(raw: object, at: str) -> tuple[dict[str, Any], dict[str, str], str]:
    if not isinstance(raw, dict):
        raise Invalid("An insight's actors are required as the source.", attr=at)
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind not in _SOURCES:
        raise no_choice(kind, _SOURCES, join_place(at, "kind"))
    known = _NODE | _SOURCES[kind] | {"source", "includeRecordings"}
    require_known(raw, known, at)
    question_at = join_place(at, "source")
    question, _ = unwrap_query(raw.get("source"), question_at)
    names = _PLACES.get(str(question.get("kind")), {})
    fields = fields_of_query(raw.get("source"), question_at)
    values, places = dict(fields.values), dict(fields.places)
    for name in _SOURCES[kind]:
        value = raw.get(name)
        if name in names and value is not None:
            values[names[name]], places[names[name]] = value, join_place(at, name)
        elif not is_idle(value):
            detail = f"{question.get('kind')} has no {name}. Leave it out."
            raise Invalid(detail, attr=join_place(at, name))
    return values, places, fields.at


def _select(fields: Fields) -> tuple[str, ...]:
    columns = fields.texts("select", COLUMNS_MAX) or SELECT_DEFAULT
    for index, column in enumerate(columns):
        if _value_of(column) is None:
            at = f"{fields.place('select')}__{index}"
            raise no_choice(column, [*_COLUMNS, "properties.<name>"], at)
    return columns


def _order(fields: Fields) -> Order:
    named = fields.texts("orderBy", 1)
    if not named:
        return ""
    text = " ".join(named[0].split())
    text = text.removesuffix(" ASC").removesuffix(" asc").replace(" desc", " DESC")
    if text not in _ORDERS:
        raise no_choice(named[0], _ORDERS, f"{fields.place('orderBy')}__0")
    return _ORDERS[text]


# ── The answer ───────────────────────────────────────────────────────────────────────────

_Value = Callable[[ActorBody], Any]
_LIST_ONLY: Final = frozenset({"value_at_data_point", "appearances", "matched_recordings"})


def select_columns(select: Sequence[str], bodies: Sequence[ActorBody]) -> list[list[Any]]:
    """Return the columns of each actor.

    Args:
        select: The columns of a parsed query.
    """
    values = [_required(column) for column in select]
    return [[value(body) for value in values] for body in bodies]


def _required(column: str) -> _Value:
    value = _value_of(column)
    assert value is not None  # `_select` refuses all others
    return value


def _value_of(column: str) -> _Value | None:
    """Return how to read a column, None if it is unknown; a comment after the name is its title."""
    name = column.partition("--")[0].strip()
    key = name.removeprefix("person.").removeprefix("actor.")
    if key.startswith("properties.") and len(key) > len("properties."):
        property_name = key.removeprefix("properties.")
        return lambda body: body.properties.get(property_name)
    return _COLUMNS.get(name)


def _actor(body: ActorBody) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(body)
    return {name: value for name, value in row.items() if name not in _LIST_ONLY}


def _count(body: ActorBody) -> Any:
    if isinstance(body.appearances, list):
        return sum(body.appearances)
    return body.value_at_data_point


_COLUMNS: Final[Mapping[str, _Value]] = {
    **dict.fromkeys(("actor", "person", "group"), _actor),
    "id": lambda body: body.id,
    "created_at": lambda body: body.created_at,
    "event_count": _count,
    "matched_recordings": lambda body: [],
}
