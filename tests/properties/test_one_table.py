"""Flags, cohorts, lists and insights give one answer to the same condition on the same values."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fanion.cohorts.calculation.query_plan import PlanContext, compile_plan
from fanion.cohorts.criteria.definition import Criteria
from fanion.cohorts.criteria.resolve import resolve
from fanion.events.event import Event, EventQuery, PersonRow
from fanion.events.storage.store import EventStore
from fanion.flags.engine.conditions import ProjectCohorts, leaf_test, no_flags
from fanion.insights.dates.intervals import DateRange
from fanion.insights.entities import Entity
from fanion.insights.query import Scope
from fanion.insights.sql.compiler import Compiler, SqlContext
from fanion.properties.filters import Property, parse_leaf
from fanion.properties.operators import COMPARISONS, ValueKind
from tests.support.examples import examples

NOW = datetime(2024, 5, 15, 13, 45, tzinfo=UTC)
DAY = DateRange(NOW - timedelta(days=1), NOW + timedelta(days=1))
Json = dict[str, Any]

WORDS = st.sampled_from(
    ["", "pro", "Pro", "ÄÖ", "äö", "İ", "true", "True", "null", "None", "a.b", "[1]", "{}", "x\ny"]
)
NUMBERS = st.one_of(
    st.integers(-20, 20),
    st.sampled_from([0.5, -0.5, 5.0, 1e21, 1e-7, 123456.789, 2**53, 2**63, -(2**63), 1e300]),
    st.floats(-1e6, 1e6),
)
WRITTEN = st.builds(
    lambda number, before, after: f"{before}{number}{after}",
    NUMBERS,
    st.sampled_from(["", " ", "+", "0", "v"]),
    st.sampled_from(["", " ", "0", "%", ".", "e2"]),
)
LOCAL = NOW.replace(tzinfo=None)
INSTANTS = st.datetimes(LOCAL.replace(year=1901), LOCAL.replace(year=2298))
NEAR = st.datetimes(LOCAL - timedelta(days=3), LOCAL)
FORMATS = st.sampled_from(
    [
        *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S.%f", "%Y/%m/%d %H:%M", "%d-%m-%Y"),
        *("%Y-%m-%dT%H:%M:%S+05:30", "%a, %d %b %Y %H:%M:%S GMT", "%d.%m.%Y %H:%M", "%Y%m%d"),
        *("%Y-%m-%d %H:%M UTC", "%Y-%m-31", "%d/%m/%Y", "%Y-%m", "%H:%M", "%Y-%m-%dT%H:%M:%S-0800"),
    ]
)
DATES = st.one_of(
    st.builds(lambda moment, form: moment.strftime(form), INSTANTS | NEAR, FORMATS),
    st.builds(lambda moment: moment.replace(tzinfo=UTC).timestamp(), INSTANTS | NEAR),
    st.builds(lambda moment: int(moment.replace(tzinfo=UTC).timestamp() * 1000), INSTANTS | NEAR),
    st.integers(-(10**12), 10**15).map(str),
)
PARTS = st.sampled_from(["0", "1", "2", "10", "01", "x"])
VERSIONS = st.builds(
    lambda before, parts, pre, build: f"{before}{'.'.join(parts)}{pre}{build}",
    st.sampled_from(["", "", "v", " "]),
    st.lists(PARTS, min_size=1, max_size=4),
    st.sampled_from(["", "", "", "-0", "-1", "-10", "-a", "-a.1", "-a.b", "-a-b", "-01", "-"]),
    st.sampled_from(["", "", "+b", "+"]),
)
SCALARS = st.one_of(WORDS, NUMBERS, WRITTEN, DATES, VERSIONS, st.booleans(), st.text(max_size=3))
# A whole number next to a fraction is stored as a fraction, and loses digits beyond 2^53.
PLAIN = st.one_of(WORDS, st.integers(-20, 20), st.sampled_from([0.5, 5.0]), st.booleans())
NESTED = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "b", "sku", "a.b", "ä"]), inner | st.none(), max_size=3
        )
    ),
    max_leaves=5,
)
VALUES = st.one_of(SCALARS, SCALARS, NESTED, st.none())
HELD = st.lists(st.just({}) | st.fixed_dictionaries({"p": VALUES}), min_size=1, max_size=12)

TEXTS = st.one_of(
    WORDS, st.sampled_from(["r", "1", "{", '"a":', "sku", "ä", "[", "}", "true", "."])
)
ANY = st.one_of(TEXTS, NUMBERS, WRITTEN, st.booleans())
OPERANDS: Mapping[ValueKind, st.SearchStrategy[Any]] = {
    "any": ANY | st.lists(ANY, min_size=1, max_size=3),
    "text": TEXTS,
    "texts": st.lists(TEXTS, max_size=3),
    "pattern": st.sampled_from(
        ["^pro$", "(?i)PRO", "[0-9]", "^$", '"a":', "true", "^\\{", ".", "\\."]
    ),
    "order": ANY,
    "range": st.lists(NUMBERS, min_size=2, max_size=2).map(sorted),
    "date": st.one_of(
        st.builds(lambda moment, form: moment.strftime(form), INSTANTS | NEAR, FORMATS),
        st.sampled_from(["-1d", "2d", "-36h", "1m", "-30y"]),
    ),
    "version": VERSIONS,
    "wildcard": VERSIONS.map(lambda version: f"{version}.*")
    | st.sampled_from(["*", "1.*", "0.1.x"]),
    "none": st.none(),
}


@st.composite
def conditions(draw: st.DrawFn) -> Json:
    operator = draw(st.sampled_from(sorted(COMPARISONS)))
    value = draw(OPERANDS[COMPARISONS[operator]])
    return {"key": "p", "operator": operator, "value": value, "negation": draw(st.booleans())}


@settings(
    max_examples=examples(12),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(held=HELD, asked=st.lists(conditions(), min_size=1, max_size=6))
@example(  # no object but an empty one
    held=[{"p": {}}, {"p": None}, {}, {"p": "{}"}],
    asked=[{"key": "p", "operator": "exact", "value": "{}"}],
)
async def test_flags_cohorts_lists_and_insights_give_one_answer(
    events: EventStore, held: Sequence[Json], asked: Sequence[Json]
) -> None:
    """Each example queries the event store three times per condition, so there are only a few."""
    project_id = uuid4().int >> 80
    await store(events, project_id, held)

    for raw in asked:
        answers = {
            "flag": of_flag(raw, held),
            "cohort": await of_cohort(events, project_id, raw),
            "list": await of_list(events, project_id, raw),
            "insight": await of_insight(events, project_id, raw),
        }

        assert set(map(frozenset, answers.values())) == {frozenset(answers["flag"])}, (
            raw,
            {name: [held[n] for n in rows] for name, rows in answers.items()},
        )


async def store(events: EventStore, project_id: int, held: Sequence[Json]) -> None:
    """Store a person and an event for each object of properties, with its position as id."""
    rows = [msgspec.json.encode(properties) for properties in held]
    await events.mirror_persons(
        [PersonRow(project_id, UUID(int=n + 1), row, NOW, 1) for n, row in enumerate(rows)]
    )
    sent = [
        Event(project_id, UUID(int=n + 1), "e", f"d{n}", UUID(int=n + 1), NOW, NOW, row)
        for n, row in enumerate(rows)
    ]
    await events.insert(events.encoder.batch(sent), str(uuid4()))


def leaf_of(raw: Json, kind: str) -> Property:
    leaf = parse_leaf({**raw, "type": kind})
    assert isinstance(leaf, Property)
    return leaf


def of_flag(raw: Json, held: Sequence[Json]) -> set[int]:
    test: Any = leaf_test(leaf_of(raw, "person"), ProjectCohorts({}), no_flags)
    return {n for n, properties in enumerate(held) if test(properties, SimpleNamespace(now=NOW))}


async def of_cohort(events: EventStore, project_id: int, raw: Json) -> set[int]:
    every = {"type": "person", "key": "other", "operator": "is_not_set"}  # next to a negation
    filters = {"properties": {"type": "AND", "values": [every, {**raw, "type": "person"}]}}
    tree = resolve(Criteria(1, "c", False, filters, ()), {})
    plan = compile_plan(tree, PlanContext(project_id, NOW, ZoneInfo("UTC"), uuid4()))
    result = await events.ask(plan.select, plan.parameters)
    return {person.int - 1 for person in (result.columns[0] if result.columns else ())}


async def of_list(events: EventStore, project_id: int, raw: Json) -> set[int]:
    query = EventQuery(before=DAY.end, properties=(leaf_of(raw, "event"),), now=NOW)
    return {event.uuid.int - 1 for event in await events.list(project_id, query)}


async def of_insight(events: EventStore, project_id: int, raw: Json) -> set[int]:
    compiler = Compiler(SqlContext(project_id, Scope(), NOW, uuid4()))
    where = compiler.where(DAY, [Entity("e", properties=leaf_of(raw, "event"))])
    statement = compiler.statement(f"SELECT uuid FROM events WHERE {where}")
    result = await events.ask(statement.text, statement.parameters)
    return {uuid.int - 1 for uuid in (result.columns[0] if result.columns else ())}
