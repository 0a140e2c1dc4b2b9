"""Translation of a `query` into the names of `filters`, so that one parser reads both.

Newer clients send a `query`, older ones `filters`.

Source: insights.md, sections 1b and 15.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from fanion.errors import Invalid
from fanion.insights.parsing import query_names as names
from fanion.insights.parsing.fields import TIMES_STAND, Fields, join_place
from fanion.insights.parsing.query_names import Part
from fanion.rest.unknown_fields import no_choice, require_known

SERIES_MAX = 100
_WRAPPED_MAX = 5
# Names of `filters` that hold a list of events, and names that hold a single event.
_ENTITY_LISTS = frozenset({"exclusions"})
# The `type` of an entity by its kind.
_TYPES: Final[Mapping[object, str | None]] = {
    None: None,
    "EventsNode": None,
    "ActionsNode": "actions",
    "GroupNode": "groups",
}
_ENTITIES = frozenset({"target_entity", "returning_entity"})


class QueryForm(Protocol):
    """The translation of queries of one kind into `filters`.

    Attributes:
        insight: The name of the kind in `filters`.
    """

    @property
    def insight(self) -> str: ...

    def translated(self, sent: Mapping[str, Any], at: str, forms: "Forms") -> "Translation":
        """Translate a query.

        Args:
            at: The place of the query in the request.

        Raises:
            Invalid: A name is unknown, or a value has the wrong shape.
        """
        ...


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of all kinds of queries.

    Attributes:
        of_kind: Maps the kind of a query to its form.
        kinds: All kinds that clients can ask, with or without a form.
    """

    of_kind: Mapping[str, QueryForm]
    kinds: Sequence[str]

    def fields(self, query: object, at: str) -> Fields:
        """Return the fields of the `filters` that ask for the same as a query.

        Args:
            at: The place of the query in the request.

        Raises:
            Invalid: A kind or name is unknown, or a value has the wrong shape.
        """
        translation = self.translated(query, at)
        return Fields(translation.values, translation.places, at)

    def translated(self, query: object, at: str) -> "Translation":
        sent, at = unwrap_query(query, at)
        kind = sent.get("kind")
        form = self.of_kind.get(kind) if isinstance(kind, str) else None
        if form is None:
            raise self._unknown(kind, join_place(at, "kind"))
        return form.translated(sent, at, self)

    def _unknown(self, kind: object, at: str) -> Invalid:
        known = [*self.kinds, *names.WRAPPERS[:2]]
        if isinstance(kind, str) and kind in names.EXPERIMENT_KINDS:
            return Invalid(
                f"{kind} is not supported. Use a FunnelsQuery or a TrendsQuery with a breakdown by "
                "the event property $feature/ followed by the key of the flag.",
                attr=at,
            )
        if isinstance(kind, str) and kind in names.UNSUPPORTED_KINDS:
            return Invalid(f"{kind} is not supported. Use one of: {', '.join(known)}.", attr=at)
        if kind is None:
            return Invalid("This field is required.", code="required", attr=at)
        if kind in self.kinds:
            used = ", ".join(self.of_kind)
            return Invalid(f'"{kind}" is not supported here. Use one of: {used}.', attr=at)
        return no_choice(kind, known, at)


def unwrap_query(query: object, at: str = "query") -> tuple[Mapping[str, Any], str]:
    """Return the question inside its wrappers, and its place in the request.

    Raises:
        Invalid: The query or a `source` is not an object.
    """
    sent = require_object(query, at)
    for _ in range(_WRAPPED_MAX):
        if sent.get("kind") not in names.WRAPPERS:
            break
        require_known(sent, names.WRAPPER_NAMES, at)
        at = join_place(at, "source")
        sent = require_object(sent.get("source"), at)
    return sent, at


@dataclass(slots=True)
class Translation:
    """A query in the names of `filters`.

    Attributes:
        values: By the names of `filters`.
        places: The place of each in the request, as in `Fields`.
    """

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: Any, place: str) -> None:
        self.values[name] = value
        self.places[name] = place

    def put_part(self, part: Part, value: object, at: str, forms: Forms) -> None:
        if value is None:
            return
        sent = require_object(value, at)
        require_known(sent, part.known, at)
        for name, inner in sent.items():
            filter_name, place = part.filter_name(name), join_place(at, name)
            if filter_name is None or (inner is None and filter_name in self.values):
                continue
            if filter_name in _ENTITY_LISTS:
                self.put_entities(filter_name, inner, place)
            elif filter_name in _ENTITIES and inner is not None:
                self._put_within(filter_name, _entity(inner, place), place)
            elif filter_name == "funnel_filter" and isinstance(inner, dict) and "kind" in inner:
                self._put_within(filter_name, forms.translated(inner, place), place)
            else:
                self.put(filter_name, inner, place)

    def put_entities(self, name: str, value: object, at: str) -> None:
        if value is None:
            return
        if not isinstance(value, list):
            raise Invalid("Must be a list.", attr=at)
        if len(value) > SERIES_MAX:
            raise Invalid(f"Ensure this list has at most {SERIES_MAX} elements.", attr=at)
        entities = [_entity(entity, f"{at}__{number}") for number, entity in enumerate(value)]
        self.put(name, [entity.values for entity in entities], at)
        for number, entity in enumerate(entities):
            self._add_places(f"{name}__{number}", entity)

    def _put_within(self, name: str, inner: "Translation", place: str) -> None:
        self.put(name, inner.values, place)
        self._add_places(name, inner)

    def _add_places(self, name: str, inner: "Translation") -> None:
        for path, place in inner.places.items():
            self.places[join_place(name, path)] = place


@dataclass(frozen=True, slots=True)
class StandardForm:
    """The form of kinds that have `series`, and objects with their own options.

    Attributes:
        parts: The kind's own objects, by name.
        defaults: Values of `filters` to set where newer clients mean something else by leaving a
            name out.
    """

    insight: str
    parts: Mapping[str, Part] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)

    def translated(self, sent: Mapping[str, Any], at: str, forms: Forms) -> Translation:
        require_known(sent, self._known, at)
        translation = Translation()
        translation.put("insight", self.insight, join_place(at, "kind"))
        for name, value in sent.items():
            place, part = join_place(at, name), self._part(name)
            if part is not None:
                translation.put_part(part, value, place, forms)
            elif name == "series":
                translation.put_entities("events", value, place)
            elif (filter_name := names.COMMON.filter_name(name)) is not None:
                translation.put(filter_name, value, place)
        for name, default in self.defaults.items():
            if translation.values.get(name) is None:
                translation.put(name, default, at)
        translation.values[TIMES_STAND] = True
        return translation

    def _part(self, name: str) -> Part | None:
        parts = {**names.PARTS, **self.parts}
        return parts.get(name) or {
            names.snake_case_name(part_name): parts[part_name] for part_name in parts
        }.get(name)

    @property
    def _known(self) -> Collection[str]:
        own = self.parts.keys() | names.PARTS.keys()
        return (
            own
            | {names.snake_case_name(name) for name in own}
            | set(names.COMMON.known)
            | {"series"}
        )


def _entity(value: object, at: str) -> Translation:
    sent = require_object(value, at)
    kind = sent.get("kind")
    if kind not in _TYPES:
        detail = f'"{kind}" is not supported. Use "EventsNode", "ActionsNode" or "GroupNode".'
        raise Invalid(detail, attr=join_place(at, "kind"))
    is_group = kind == "GroupNode"
    require_known(sent, names.EVENTS_NODE.known | (names.OF_GROUP if is_group else frozenset()), at)
    translation = Translation()
    if (own_type := _TYPES[kind]) is not None:
        translation.put("type", own_type, join_place(at, "kind"))
    if is_group:
        translation.put("operator", sent.get("operator"), join_place(at, "operator"))
        translation.put_entities("nodes", sent.get("nodes"), join_place(at, "nodes"))
    for name, inner in sent.items():
        filter_name = names.EVENTS_NODE.filter_name(name)
        if filter_name is not None:
            translation.put(filter_name, inner, join_place(at, name))
    return translation


def require_object(value: object, at: str) -> Mapping[str, Any]:
    """Return the value if it is an object.

    Raises:
        Invalid: The value is missing or not an object.
    """
    if value is None:
        raise Invalid("This field is required.", code="required", attr=at)
    if not isinstance(value, dict):
        raise Invalid("Must be a JSON object.", attr=at)
    return value
