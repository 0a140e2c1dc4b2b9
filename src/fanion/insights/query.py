"""The parts that every question has: events, conditions, range.

Source: insights.md, section 2.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, is_dataclass, replace
from dataclasses import fields as fields_of
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar

from fanion.actions.conditions import ResolvedAction
from fanion.insights.breakdowns import GROUP_TYPES_MAX, Breakdowns
from fanion.insights.dates.bounds import FROM_DEFAULT, LEFT_OUT, Bound
from fanion.insights.dates.intervals import DateRange, Interval, widen_to_interval
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.insights.entities import Entity, SqlText, all_of
from fanion.insights.parsing.fields import TIMES_STAND, Fields
from fanion.insights.parsing.options import CONDITIONS, date, switch, whole
from fanion.properties.filters import InCohort, Node, SqlCondition, leaves
from fanion.rest.options import Options
from fanion.rest.posthog_insight_fields import ACCOMPANYING, DRAWN

_NO_FILTERS = DRAWN | ACCOMPANYING | {TIMES_STAND}


@dataclass(frozen=True, slots=True)
class Scope(Options):
    """The range and conditions of a question, and whom it counts.

    Attributes:
        is_explicit: Whether the range is taken as it is, without rounding.
        group_type_index: The type of the groups that are counted instead of persons.
        counted_by: The expression in SQL whose values are counted instead of persons.
        sent: The question by the names of `filters`, without what only concerns drawing.
    """

    since: Annotated[
        Bound,
        date(FROM_DEFAULT, "date_from"),
        "A date, a time, `-30d`, `-1mStart`, `dStart`, or `all`.",
    ] = LEFT_OUT
    until: Annotated[Bound, date(name="date_to"), "In the same formats; now by default."] = LEFT_OUT
    is_explicit: Annotated[bool, switch("explicit_date"), "The range is not rounded."] = False
    properties: Annotated[Node | None, CONDITIONS, "Conditions on all events."] = None
    filter_test_accounts: Annotated[
        bool, switch(), "Applies the project's `test_account_filters` too."
    ] = False
    group_type_index: Annotated[
        int | None,
        whole(0, GROUP_TYPES_MAX - 1, "aggregation_group_type_index"),
        "Counts groups of this type in place of persons.",
    ] = None
    counted_by: SqlText | None = None
    sent: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def completed(self, fields: Fields) -> Self:
        # `check_sampling` refuses it in new questions; a stored one is ignored: answers are exact.
        fields.raw("sampling_factor")
        sent = fields.values
        return replace(self, sent={name: sent[name] for name in sent if name not in _NO_FILTERS})

    def span(self, interval: Interval, clock: RangeClock) -> DateRange:
        return resolve_range(self.since, self.until, interval, clock, is_explicit=self.is_explicit)

    def whole_span(self, interval: Interval, clock: RangeClock) -> DateRange:
        """Return the range from the start of its first interval, unless it is explicit."""
        span = self.span(interval, clock)
        if self.is_explicit:
            return span
        return widen_to_interval(span, interval, clock.zone, clock.week_start_day)

    @property
    def counts_persons(self) -> bool:
        return self.group_type_index is None and self.counted_by is None

    def with_conditions(self, own: Node | None) -> Self:
        """Return the scope with further conditions, those on test accounts included."""
        properties = all_of(self.properties, own)
        return replace(self, properties=properties, filter_test_accounts=False)


class InsightQuery(Protocol):
    """A question of any kind, which is a frozen dataclass.

    Attributes:
        interval: The interval of the points in the answer; `day` if it has none.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def scope(self) -> Scope: ...

    @property
    def entities(self) -> tuple[Entity, ...]: ...

    @property
    def breakdowns(self) -> Breakdowns | None: ...

    @property
    def interval(self) -> Interval: ...

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range whose events are counted.

        Raises:
            Invalid: The range is empty or cannot be resolved.
        """
        ...


_Query = TypeVar("_Query", bound=InsightQuery)
_Part = TypeVar("_Part")


def with_scope(query: _Query, scope: Scope) -> _Query:
    """Return the question with another scope."""
    return replace(query, scope=scope)


def scopes_of(query: InsightQuery) -> Sequence[Scope]:
    """Return the scope of a question, and of one within it, such as the funnel of paths."""
    scopes: list[Scope] = []

    def collected(scope: Scope) -> Scope:
        scopes.append(scope)
        return scope

    _changed(query, Scope, collected)
    return scopes


def with_each_scope(query: _Query, change: Callable[[Scope], Scope]) -> _Query:
    """Return the question with each of its scopes changed."""
    changed: _Query = _changed(query, Scope, change)
    return changed


def cohorts_named(query: InsightQuery) -> Collection[int]:
    """Return the ids of the cohorts in conditions and in the breakdown, each once."""
    named = (leaf.cohort_id for leaf in conditions_of(query) if isinstance(leaf, InCohort))
    shown = query.breakdowns.cohorts if query.breakdowns else ()
    return list(dict.fromkeys([*named, *shown]))


def sql_named(query: InsightQuery) -> Sequence[SqlText]:
    """Return the expressions in SQL of conditions, of the breakdown and of series, each once."""
    found = [
        SqlText("condition", leaf.key, leaf.place)
        for leaf in conditions_of(query)
        if isinstance(leaf, SqlCondition)
    ]
    parts = query.breakdowns.parts if query.breakdowns else ()
    found += [SqlText("value", part.key, part.place) for part in parts if part.type == "hogql"]
    found += [query.scope.counted_by] if query.scope.counted_by is not None else []
    found += [one.aggregate for one in query.entities if one.aggregate is not None]
    return list(dict.fromkeys(found))


def conditions_of(query: InsightQuery) -> Iterator[Node]:
    """Yield each condition of the question, those of its events included."""
    nodes = [scope.properties for scope in scopes_of(query)]
    for entity in query.entities:
        nodes += [each.properties for each in (entity, *entity.nodes)]
    for node in nodes:
        yield from () if node is None else leaves(node)


def actions_named(query: InsightQuery) -> Mapping[int, str]:
    """Return the ids of the actions that are still to be resolved, each with its first place."""
    return actions_among(query.entities)


def actions_among(entities: Iterable[Entity]) -> Mapping[int, str]:
    """Return the ids of the unresolved actions among entities, each with its first place."""
    named: dict[int, str] = {}
    for entity in entities:
        for each in (entity, *entity.nodes):
            if each.action is not None and not each.is_resolved:
                named.setdefault(each.action, each.place)
    return named


def with_actions(query: _Query, actions: Mapping[int, ResolvedAction]) -> _Query:
    """Return the question with the conditions of its actions.

    Args:
        actions: At least those of `actions_named`.
    """
    resolved: _Query = _changed(query, Entity, lambda each: _resolved_entity(each, actions))
    return resolved


def _resolved_entity(entity: Entity, actions: Mapping[int, ResolvedAction]) -> Entity:
    if entity.is_resolved:
        return entity
    if entity.nodes:
        nodes = tuple(_resolved_entity(node, actions) for node in entity.nodes)
        return replace(entity, nodes=nodes).joined()
    return entity if entity.action is None else entity.resolved(actions[entity.action])


def _changed(part: Any, kind: type[_Part], change: Callable[[_Part], _Part]) -> Any:
    """Return a part of a question in which each part of a type is changed."""
    if isinstance(part, kind):
        return change(part)
    if isinstance(part, tuple):
        return tuple(_changed(each, kind, change) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        own = {each.name: getattr(part, each.name) for each in fields_of(part)}
        changed = {name: _changed(value, kind, change) for name, value in own.items()}
        differing = {name: changed[name] for name in own if changed[name] is not own[name]}
        return replace(part, **differing) if differing else part
    return part
