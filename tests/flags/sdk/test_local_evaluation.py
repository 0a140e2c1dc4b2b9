"""The definitions that SDKs are sent to evaluate flags locally."""

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from posthog.feature_flags import match_feature_flag_properties

from fanion.flags.engine.conditions import CohortDefinition
from fanion.flags.engine.definition import FlagDefinitions, FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject
from fanion.flags.evaluation.compiled import build_compiled_flags
from fanion.flags.sdk.endpoints import DocumentCache
from fanion.flags.sdk.local_evaluation import etagged, local_cohorts, local_filters
from fanion.properties.filters import parse_tree

NOW = datetime(2022, 5, 1, tzinfo=UTC)


def prop(key: str, value: Any = "x", **fields: Any) -> dict[str, Any]:
    return {"key": key, "type": "person", "value": value, "operator": "exact", **fields}


def group(kind: str, *values: Any) -> dict[str, Any]:
    return {"type": kind, "values": list(values)}


def cohort(number: int, **fields: Any) -> dict[str, Any]:
    return {"key": "id", "type": "cohort", "value": number, **fields}


def condition(*properties: Any, share: float | None = 50, **fields: Any) -> dict[str, Any]:
    return {"properties": list(properties), "rollout_percentage": share, **fields}


def project(filters: dict[str, Any] | None = None, **trees: Any) -> FlagSet:
    """Compile the flag and cohorts of a project.

    Args:
        trees: c1=…, c2=…: the criteria of cohorts 1 and 2; None for a static cohort.
    """
    cohorts = [
        CohortDefinition(int(name[1:]), tree and parse_tree(tree), is_static=tree is None)
        for name, tree in trees.items()
    ]
    rows = [] if filters is None else [FlagRow(1, "flag", filters)]
    return build_flag_set(map(compile_flag, rows), {}, cohorts)


A, B, C = prop("a"), prop("b"), prop("c")


@pytest.mark.parametrize(
    ("tree", "written"),
    [
        (group("AND", A, B), [[A, B]]),
        (group("OR", A, B), [[A], [B]]),
        (group("OR", group("AND", A, B), group("AND", C)), [[A, B], [C]]),
        (group("OR", group("AND", A, B), group("OR", C)), [[A, B], [C]]),
        (group("OR", group("AND", group("OR", A, B))), [[A], [B]]),
        (group("AND", A), [[A]]),
    ],
)
def test_a_condition_on_a_cohort_is_written_out_as_groups(tree: Any, written: Any) -> None:
    filters = {"groups": [condition(cohort(1)), condition(prop("d"))], "payloads": {"true": 1}}
    flags = project(filters, c1=tree)

    local = local_filters(flags, filters, with_cohorts=False)

    assert local == {
        "groups": [condition(prop("d")), *(condition(*alternative) for alternative in written)],
        "payloads": {"true": 1},
    }


@pytest.mark.parametrize(
    ("tree", "written"),
    [
        (group("AND", A, B), True),
        (group("OR", A, group("AND", B, C)), True),
        (group("OR", group("AND", A, prop("b", operator="is_not"))), True),
    ],
)
def test_what_is_written_out_or_sent_means_the_same(tree: Any, written: bool) -> None:
    filters = {"groups": [condition(cohort(1), share=100)]}
    flags = project(filters, c1=tree)
    without = {"key": "flag", "filters": local_filters(flags, filters, with_cohorts=False)}
    with_them = {"key": "flag", "filters": local_filters(flags, filters, with_cohorts=True)}
    cohorts = local_cohorts(flags, [filters])

    assert (without["filters"] != filters) is written
    for values in itertools.product("xy", repeat=3):
        person = dict(zip("abc", values, strict=True))
        here = evaluate(flags, Subject("u", sent=person), NOW).decisions["flag"].value
        expanded = match_feature_flag_properties(without, "u", person, bucketing_value="u")
        sent = match_feature_flag_properties(
            with_them, "u", person, cohort_properties=cohorts, bucketing_value="u"
        )

        assert here == expanded == sent


@pytest.mark.parametrize(
    "tree",
    [
        group("AND", group("OR", A, B), group("AND", C, A)),
        group("OR", group("AND", C, A), group("OR", A, B)),
        group("OR", group("AND", group("OR", A, B), C), A),
        group("AND", A, {**B, "negation": True}),
        group("AND", A, cohort(2)),
        group("AND", A, {"type": "behavioral", "key": "paid", "value": "performed_event"}),
        group("AND"),
        None,
    ],
)
def test_criteria_that_are_more_than_groups_stay_a_condition(tree: Any) -> None:
    filters = {"groups": [condition(cohort(1))]}
    flags = project(filters, c1=tree, c2=group("AND", B))

    assert local_filters(flags, filters, with_cohorts=False) is filters


@pytest.mark.parametrize(
    "groups",
    [
        [condition(cohort(1), A)],
        [condition(cohort(1)), condition(variant="blue")],
        [condition(cohort(1)), condition(cohort(2))],
        [condition(cohort(1), share=10), condition(A, share=100)],
        [condition(cohort(1, negation=True))],
        [condition(cohort(1, operator="not_in"))],
        [condition(cohort(99))],
        [condition(A)],
    ],
)
def test_a_flag_that_cannot_be_written_out_stays_as_it_is(groups: Any) -> None:
    filters = {"groups": groups}
    flags = project(filters, c1=group("AND", A), c2=group("AND", B))

    assert local_filters(flags, filters, with_cohorts=False) is filters
    assert local_filters(flags, filters, with_cohorts=True) is filters


def test_cohorts_in_use_are_sent_with_those_inside() -> None:
    flags = project(
        c1=group("OR", group("AND", A, cohort(2, negation=True)), group("AND", cohort(3))),
        c2=group("AND", {"key": "b", "value": ["x", 1]}, prop("c", None, operator="is_set")),
        c3=None,
        c4=group("AND", A),
    )

    sent = local_cohorts(flags, [{"groups": [condition(cohort(1)), condition(cohort(99))]}])

    assert sent == {
        "1": group(
            "OR",
            group("AND", A, cohort(2, negation=True)),
            group("AND", cohort(3)),
        ),
        "2": group(
            "AND",
            prop("b", ["x", 1]),
            {"key": "c", "type": "person", "operator": "is_set"},
        ),
    }


def test_cohorts_that_an_sdk_would_get_wrong_are_not_sent() -> None:
    event = {"type": "behavioral", "key": "paid", "value": "performed_event"}
    flags = project(c1=group("AND", A, cohort(2)), c2=group("AND", event), c3=group("OR"))
    filters = {"groups": [condition(cohort(number)) for number in (1, 2, 3)]}

    assert local_cohorts(flags, [filters]) == {}


def test_cohorts_that_contain_each_other_are_sent_once() -> None:
    flags = project(c1=group("AND", cohort(2)), c2=group("AND", cohort(1)))

    assert local_cohorts(flags, [{"groups": [condition(cohort(1))]}]).keys() == {"1", "2"}


@pytest.mark.parametrize("filters", [{}, {"groups": 5}, {"groups": ["x"]}, {"groups": [{}]}])
def test_filters_that_cannot_be_read_stay_as_they_are(filters: Any) -> None:
    assert local_filters(project(), filters, with_cohorts=False) is filters
    assert local_cohorts(project(), [filters]) == {}


def test_flags_in_conditions_get_their_key_and_the_order_to_decide_them_in() -> None:
    def after(name: object) -> dict[str, Any]:
        return {"type": "flag", "key": name, "operator": "flag_evaluates_to", "value": True}

    rows = [
        FlagRow(1, "outer", {"groups": [condition(A, after("2"))]}),
        FlagRow(2, "middle", {"groups": [condition(after(3))]}),
        FlagRow(3, "inner", {"groups": [{}]}),
        FlagRow(4, "loop", {"groups": [condition(after("4"))]}),
        FlagRow(5, "off", {"groups": [{}]}, active=False),
        FlagRow(6, "after-off", {"groups": [condition(after("5"), after("99"))]}),
    ]
    flags = build_flag_set(map(compile_flag, rows), {})

    def local(row: FlagRow) -> list[Any]:
        sent_groups: list[Any] = local_filters(flags, row.filters, with_cohorts=True)["groups"]
        return sent_groups

    assert local(rows[0]) == [
        condition(A, {**after("middle"), "dependency_chain": ["inner", "middle"]})
    ]
    assert local(rows[3]) == [condition({**after("loop"), "dependency_chain": []})]
    assert local(rows[5]) == [condition({**after("off"), "dependency_chain": ["off"]}, after("99"))]


def test_the_documents_of_the_project_that_is_least_used_are_forgotten() -> None:
    cache, document = DocumentCache(projects_max=2), etagged(b"{}")
    first, second, third = (build_compiled_flags(FlagDefinitions()) for _ in range(3))
    for project_id, built in ((1, first), (2, second)):
        cache.documents_of(project_id, built)[True, True] = document

    cache.documents_of(1, first)
    cache.documents_of(3, third)

    assert cache.documents_of(1, first) == {(True, True): document}
    assert cache.documents_of(2, second) == {}


def test_the_documents_of_former_flags_are_forgotten() -> None:
    cache = DocumentCache(projects_max=2)
    former, later, other = (build_compiled_flags(FlagDefinitions()) for _ in range(3))
    document = etagged(b"{}")
    cache.documents_of(1, other)[True, True] = document
    cache.documents_of(2, former)[True, True] = document

    assert cache.documents_of(2, later) == {}
    assert cache.documents_of(1, other) == {(True, True): document}
