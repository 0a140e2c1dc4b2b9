"""Flag evaluation against the local evaluator of posthog-python, flag for flag.

Both get the same 100 flags and the same subject in the same run. The floor is only the SDK's
matching function, without its client around it.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from posthog.feature_flags import match_feature_flag_properties

from bench.report import Row, best_ns, show
from fanion.flags.engine.conditions import CohortDefinition
from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate, find_needs
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject
from fanion.properties.filters import parse_tree

NOW = datetime(2024, 4, 2, 8, 30, tzinfo=UTC)
TARGET = 5.0
GROUPS = {"organization": "org:1"}
GROUP_PROPERTIES = {"organization": {"$group_key": "org:1", "plan": "pro", "seats": 120}}
PERSON: Mapping[str, Any] = {
    "distinct_id": "user-4711",
    "email": "Ann@Corp.Example",
    "plan": "pro",
    "age": 37,
    "is_staff": True,
    "country": "NL",
    "signed_up": "2024-01-15T10:00:00Z",
    "app_version": "1.24.3",
    **{f"trait_{index}": f"value {index}" for index in range(20)},
}
COHORTS: Mapping[str, Any] = {
    "1": {
        "type": "OR",
        "values": [
            {"type": "AND", "values": [
                {"type": "person", "key": "plan", "operator": "exact", "value": ["team", "scale"]},
                {"type": "person", "key": "age", "operator": "gt", "value": 30},
            ]},
            {"type": "AND", "values": [
                {"type": "person", "key": "email", "operator": "icontains", "value": "@corp."},
                {"type": "person", "key": "country", "operator": "is_not", "value": ["US"]},
            ]},
        ],
    },
    "2": {"type": "AND", "values": [{"type": "cohort", "key": "id", "value": 1}]},
}  # fmt: skip
VARIANTS = [
    {"key": "control", "rollout_percentage": 34},
    {"key": "test-a", "rollout_percentage": 33},
    {"key": "test-b", "rollout_percentage": 33},
]


def run() -> list[Row]:
    kinds = {
        "release by percentage": _rollout,
        "release by properties": _by_property,
        "experiment with variants": _experiment,
        "release by cohort": _by_cohort,
        "release by group": _by_group,
    }
    rows = [_row(f"100 flags: {name}", [make(i) for i in range(100)]) for name, make in
            kinds.items()]  # fmt: skip
    return [_row("100 flags, mixed", _mixed()), *rows, _needs_row()]


def _mixed() -> list[dict[str, Any]]:
    """Return 100 flags of mixed kinds.

    40 are by properties, 20 by percentage, 20 with variants, 10 by cohort and 10 by group.
    """
    makers: list[Callable[[int], dict[str, Any]]] = (
        [_by_property] * 40 + [_rollout] * 20 + [_experiment] * 20
        + [_by_cohort] * 10 + [_by_group] * 10
    )  # fmt: skip
    return [make(index) for index, make in enumerate(makers)]


def _row(case: str, filters: list[dict[str, Any]]) -> Row:
    flag_set = _flag_set(filters)
    subject = Subject("user-4711", sent=PERSON, groups=GROUPS, group_properties=GROUP_PROPERTIES)
    sdk_flags = [_sdk_flag(index, each) for index, each in enumerate(filters)]
    ours_values = {k: d.value for k, d in evaluate(flag_set, subject, NOW).decisions.items()}
    if ours_values != _sdk(sdk_flags):
        raise AssertionError("the two evaluators disagree, so their times say nothing")
    ours = best_ns(lambda: evaluate(flag_set, subject, NOW)) / len(filters)
    floor = best_ns(lambda: _sdk(sdk_flags), calls=10) / len(filters)
    return Row(case, f"{ours:.0f} ns/flag", f"{floor:.0f} ns/flag", floor / ours, TARGET)


def _needs_row() -> Row:
    """Measure finding what must be read, when the request sends all that the flags look at."""
    flag_set = _flag_set(_mixed())
    subject = Subject("user-4711", sent=PERSON, groups=GROUPS, group_properties=GROUP_PROPERTIES)
    ours = best_ns(lambda: find_needs(flag_set, subject), calls=2000)
    floor = best_ns(lambda: evaluate(flag_set, subject, NOW))
    return Row("needs, against one evaluation", f"{ours:.0f} ns", f"{floor:.0f} ns",
               floor / ours, 10.0)  # fmt: skip


def _flag_set(filters: list[dict[str, Any]]) -> FlagSet:
    rows = [FlagRow(index, f"flag-{index}", each) for index, each in enumerate(filters)]
    cohorts = [CohortDefinition(int(key), parse_tree(tree)) for key, tree in COHORTS.items()]
    return build_flag_set(map(compile_flag, rows), {0: "organization"}, cohorts)


def _sdk_flag(index: int, filters: dict[str, Any]) -> dict[str, Any]:
    return {"id": index, "key": f"flag-{index}", "active": True, "filters": filters}


def _sdk(flags: list[dict[str, Any]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for flag in flags:
        by_group = flag["filters"].get("aggregation_group_type_index") is not None
        identifier = GROUPS["organization"] if by_group else "user-4711"
        properties = GROUP_PROPERTIES["organization"] if by_group else PERSON
        values[flag["key"]] = match_feature_flag_properties(
            flag, identifier, properties, cohort_properties=COHORTS, bucketing_value=identifier
        )
    return values


def _rollout(index: int) -> dict[str, Any]:
    return {"groups": [{"properties": [], "rollout_percentage": index % 99 + 1}]}


def _by_property(index: int) -> dict[str, Any]:
    conditions: list[dict[str, Any]] = [
        {"key": "email", "operator": "icontains", "value": "@corp.example"},
        {"key": "plan", "operator": "exact", "value": ["team", "pro"]},
        {"key": "country", "operator": "is_not", "value": ["US", "CA"]},
        {"key": "age", "operator": "gte", "value": 18},
        {"key": "is_staff", "operator": "exact", "value": ["true"]},
        {"key": "signed_up", "operator": "is_date_after", "value": "2024-01-01"},
        {"key": "app_version", "operator": "regex", "value": "^1\\.[0-9]+"},
        {"key": "email", "operator": "is_set", "value": "is_set"},
    ]
    chosen = [conditions[index % 8], conditions[(index * 3 + 1) % 8]]
    return {
        "groups": [
            {"properties": [{"type": "person", **each} for each in chosen]},
            {"properties": [], "rollout_percentage": 10},
        ]
    }


def _experiment(index: int) -> dict[str, Any]:
    share = 100 if index % 2 else 80
    return {
        "groups": [{"properties": [], "rollout_percentage": share}],
        "multivariate": {"variants": VARIANTS},
        "payloads": {"control": '{"colour": "blue"}'},
    }


def _by_cohort(index: int) -> dict[str, Any]:
    condition = {"type": "cohort", "key": "id", "value": index % 2 + 1}
    return {"groups": [{"properties": [condition], "rollout_percentage": 100}]}


def _by_group(index: int) -> dict[str, Any]:
    condition = {"type": "group", "key": "seats", "operator": "gt", "value": 100,
                 "group_type_index": 0}  # fmt: skip
    share = 100 if index % 2 else 50
    return {
        "aggregation_group_type_index": 0,
        "groups": [{"properties": [condition], "rollout_percentage": share}],
    }


if __name__ == "__main__":
    show(run())
