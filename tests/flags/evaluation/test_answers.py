"""Every form of answer, from random flags, against answers that are put together flag by flag."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.flags.engine.definition import CohortRow, FlagDefinitions, FlagRow
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.model import Decision, Evaluation, Subject
from fanion.flags.evaluation.compiled import CompiledFlags, build_compiled_flags
from fanion.flags.evaluation.responses import (
    CONFIGURATION,
    decide_form,
    flags_form,
    payload_text,
    reason_description,
)
from fanion.flags.evaluation.service import EvaluationCounters
from fanion.flags.sdk.ofrep import ErrorCode, bulk_answer, failure_answer, success_answer
from tests.support.examples import examples

NOW = datetime(2026, 5, 1, 12, 30, 0, 250_000, tzinfo=UTC)
MARKERS = ("errorComputingFlags", "errorsWhileComputingFlags")
TEXTS = ["pro", "Pro plan", "free", "ann@corp.example", "1", "", "É"]
KEYS = ["plan", "email", "seats", "since"]
VALUES = [*TEXTS, 1, 1.0, True, None, "2026-04-20T08:00:00Z"]
# Many flags have the same few tests, and many test the same property.
LEAVES = st.one_of(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(KEYS[:2]),
            "type": st.just("person"),
            "operator": st.sampled_from(["exact", "icontains"]),
            "value": st.sampled_from(TEXTS),
        }
    ),
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(KEYS),
            "type": st.just("person"),
            "operator": st.sampled_from(["exact", "is_not", "gt", "is_set", "regex", "semver_gt"]),
            "value": st.sampled_from([*VALUES, ["pro", "1"], [1, True]]),
        }
    ),
    st.just({"key": "since", "type": "person", "operator": "is_date_after", "value": "-14d"}),
    st.sampled_from([1, 2]).map(lambda number: {"key": "id", "type": "cohort", "value": number}),
    st.sampled_from([True, False, "a"]).map(
        lambda value: {
            "key": "flag-0",
            "type": "flag",
            "operator": "flag_evaluates_to",
            "value": value,
        }
    ),
)
CONDITIONS = st.fixed_dictionaries(
    {
        "properties": st.lists(LEAVES, max_size=2),
        "rollout_percentage": st.sampled_from([None, 0, 40, 100]),
    },
    optional={"variant": st.sampled_from(["a", "unknown"])},
)
PAYLOADS = st.dictionaries(
    st.sampled_from(["true", "a", "b"]),
    st.sampled_from(["text", '{"n": 1}', {"n": [1, None, "é"]}, "", None, 3, False]),
)
VARIANTS = [{"key": key, "rollout_percentage": share} for key, share in (("a", 50), ("b", 50))]
HELD = {"properties": [], "rollout_percentage": 30, "variant": "a"}
FILTERS = st.fixed_dictionaries(
    {"groups": st.lists(CONDITIONS, max_size=3)},
    optional={
        "multivariate": st.just({"variants": VARIANTS}),
        "payloads": PAYLOADS,
        "aggregation_group_type_index": st.sampled_from([0, 1]),
        "super_groups": st.lists(CONDITIONS, min_size=1, max_size=1),
        "holdout_groups": st.just([HELD]),
    },
)
ROWS = st.fixed_dictionaries(
    {
        "filters": FILTERS,
        "active": st.sampled_from([True, True, True, False]),
        "name": st.sampled_from(["", "A \u2028 name"]),
        "ensure_experience_continuity": st.sampled_from([False, False, True]),
        "bucketing_identifier": st.sampled_from([None, None, "device_id"]),
    }
)
PROJECTS = st.lists(ROWS, min_size=1, max_size=10)
PROPERTIES = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
SUBJECTS = st.builds(
    Subject,
    st.sampled_from(["user-1", "user-2", "é"]),
    sent=PROPERTIES,
    stored=st.none() | PROPERTIES,
    cohorts=st.sampled_from([None, frozenset(), frozenset({2})]),
    groups=st.sampled_from([{}, {"company": "acme"}]),
    group_properties=st.just({}) | PROPERTIES.map(lambda values: {"company": values}),
    stored_groups=st.none() | PROPERTIES.map(lambda values: {"company": values}),
    hash_keys=st.sampled_from([None, {}, {"flag-1": "former"}]),
    device_id=st.sampled_from([None, "device-1"]),
)
PRO = {"key": "plan", "type": "person", "operator": "exact", "value": "pro"}
COHORTS = [
    CohortRow(1, {"type": "AND", "values": [PRO]}),
    CohortRow(2, is_static=True),
]


def built(rows: list[dict[str, Any]], former: CompiledFlags | None = None) -> CompiledFlags:
    flags = [
        FlagRow(number + 1, f"flag-{number}", **row, version=number % 3)
        for number, row in enumerate(rows)
    ]
    return build_compiled_flags(FlagDefinitions(flags, {0: "company"}, COHORTS), former)


def flag_by_flag(flags: CompiledFlags, subject: Subject, *, with_inactive: bool) -> Evaluation:
    """Evaluate each flag by a run of its own, in which no other flag's tests were run."""
    decisions: dict[str, Decision] = {}
    failed: set[str] = set(flags.flag_set.broken)
    keys = [*flags.flag_set.by_key, *(flags.flag_set.inactive if with_inactive else ())]
    for key in keys:
        alone = evaluate(flags.flag_set, subject, NOW, [key], with_inactive=with_inactive)
        decisions |= alone.decisions
        failed |= alone.failed
    return Evaluation(decisions, frozenset(failed), NOW)


def record(flags: CompiledFlags, decision: Decision) -> dict[str, Any]:
    flag = flags.flag_set.flags[decision.key]
    return {
        "key": flag.key,
        "enabled": decision.value is not False,
        "variant": decision.value if isinstance(decision.value, str) else None,
        "reason": {
            "code": decision.reason.value,
            "condition_index": decision.condition_index,
            "description": reason_description(decision),
        },
        "metadata": {
            "id": flag.id,
            "version": flag.version,
            "description": flag.name or None,
            "payload": payload_text(decision.payload),
            "has_experiment": False,
        },
    }


def expected_forms(flags: CompiledFlags, evaluation: Evaluation) -> Iterator[Mapping[str, Any]]:
    """Yield the answers of /decide in versions 1 to 4, and then those of /flags."""
    on = {k: d.value for k, d in evaluation.decisions.items() if d.value is not False}
    payloads = {k: d.payload for k, d in evaluation.decisions.items() if d.payload is not None}
    marker = dict.fromkeys(MARKERS, bool(evaluation.failed))
    values = {k: d.value for k, d in evaluation.decisions.items()}
    third = {"featureFlags": values, "featureFlagPayloads": payloads, **marker}
    records = {key: record(flags, decision) for key, decision in evaluation.decisions.items()}
    valued = {key: {**known, "value": values[key]} for key, known in records.items()}
    yield {**CONFIGURATION, "featureFlags": list(on)}
    yield {**CONFIGURATION, "featureFlags": on}
    yield {**CONFIGURATION, **third}
    yield {**CONFIGURATION, "flags": records, **marker, "requestId": ""}
    for written in (third, *[{"flags": records, **marker}] * 2, {"flags": valued, **marker}):
        yield {**written, "requestId": "", "evaluatedAt": int(NOW.timestamp() * 1000)}


def forms(flags: CompiledFlags, evaluation: Evaluation) -> Iterator[bytes]:
    every = [decide_form(version) for version in range(1, 5)]
    every += [flags_form(version, with_configuration=False) for version in range(1, 5)]
    for form in every:
        body = form.body(flags, evaluation)
        yield re.sub(rb'"requestId":"[0-9a-f-]{36}"', b'"requestId":""', body)


def counted(evaluation: Evaluation) -> object:
    counters = EvaluationCounters(lambda: 0.0)
    counters.count_decisions(1, evaluation.decisions)
    return counters.take_counts()


@settings(max_examples=examples(300), deadline=None)
@given(PROJECTS, PROJECTS, st.lists(SUBJECTS, min_size=1, max_size=3))
def test_every_form_of_answer_has_the_bytes_of_flags_evaluated_one_by_one(
    before: list[dict[str, Any]], rows: list[dict[str, Any]], subjects: list[Subject]
) -> None:
    # Flags that a change leaves as they are keep their tests and decisions.
    former = built(before + rows[len(before) :])
    flags, alone = built(rows, former), built(rows)

    each = [flag_by_flag(alone, subject, with_inactive=False) for subject in subjects]
    bodies = [
        [msgspec.json.encode(form) for form in expected_forms(alone, expected)] for expected in each
    ]

    # The second request with the same tests makes a plan; later ones find its cached decisions.
    for subject, expected, expected_bodies in list(zip(subjects, each, bodies, strict=True)) * 4:
        evaluation = evaluate(flags.flag_set, subject, NOW)

        decisions = msgspec.to_builtins(evaluation.decisions)
        assert decisions == msgspec.to_builtins(expected.decisions)
        assert evaluation.failed == expected.failed
        assert list(forms(flags, evaluation)) == expected_bodies
        assert counted(evaluation) == counted(expected)


@settings(max_examples=examples(150), deadline=None)
@given(PROJECTS, SUBJECTS)
def test_the_answer_to_openfeature_has_the_bytes_of_flags_evaluated_one_by_one(
    rows: list[dict[str, Any]], subject: Subject
) -> None:
    flags, alone = built(rows), built(rows)

    evaluation = evaluate(flags.flag_set, subject, NOW, with_inactive=True)
    expected = flag_by_flag(alone, subject, with_inactive=True)
    bodies = {bulk_answer(flags, evaluation) for _ in range(2)}

    details = "The flag cannot be computed now."
    every = [
        success_answer(alone.flag_set.flags[key], decision)
        for key, decision in expected.decisions.items()
    ]
    every += [failure_answer(ErrorCode.GENERAL, details, key) for key in sorted(expected.failed)]
    assert bodies == {msgspec.json.encode({"flags": every})}
    assert json.loads(bodies.pop())["flags"] == every
