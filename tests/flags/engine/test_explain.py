"""An explanation agrees with the evaluator, and names the condition that decided."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanion.flags.engine.compiler import evaluation_order
from fanion.flags.engine.definition import FlagRow, compile_flag, parse_rules
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.explain import explain
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.hashing import bucket
from fanion.flags.engine.model import DecisionReason, Subject

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)

Json = dict[str, Any]

LEAVES = st.builds(
    lambda key, value, operator, negation: {
        "type": "person", "key": key, "value": value, "operator": operator, "negation": negation,
    },
    st.sampled_from(["plan", "age", "distinct_id"]),
    st.sampled_from(["pro", "1", "user-1"]),
    st.sampled_from(["exact", "is_not", "gt", "is_set"]),
    st.booleans(),
)  # fmt: skip
SETS = st.fixed_dictionaries(
    {
        "properties": st.lists(LEAVES, max_size=2),
        "rollout_percentage": st.sampled_from([None, 0, 30, 70, 100]),
        "variant": st.sampled_from([None, "a", "unknown"]),
    }
)
FILTERS = st.fixed_dictionaries(
    {
        "groups": st.lists(SETS, max_size=4),
        "multivariate": st.sampled_from(
            [
                None,
                {
                    "variants": [
                        {"key": "a", "rollout_percentage": 50},
                        {"key": "b", "rollout_percentage": 50},
                    ]
                },
            ]
        ),
        "super_groups": st.one_of(st.none(), st.lists(SETS, min_size=1, max_size=1)),
        "holdout_groups": st.sampled_from([None, [{"rollout_percentage": 50, "variant": "held"}]]),
    }
)
SUBJECTS = st.builds(
    lambda distinct_id, stored, sent: Subject(distinct_id, sent=sent, stored=stored),
    st.sampled_from([f"user-{n}" for n in range(8)]),
    st.dictionaries(st.sampled_from(["plan", "age"]), st.sampled_from(["pro", 1, 5, None])),
    st.dictionaries(st.sampled_from(["plan", "age"]), st.sampled_from(["pro", "free", 2])),
)


def flag_set(filters: Json, **fields: Any) -> FlagSet:
    return build_flag_set([compile_flag(FlagRow(1, "flag", filters, **fields))], {})


@given(FILTERS, SUBJECTS)
def test_it_agrees_with_the_evaluator(filters: Json, subject: Subject) -> None:
    flags = flag_set(filters)

    explanation = explain(flags, "flag", subject, NOW)

    decision = evaluate(flags, subject, NOW).decisions["flag"]
    assert (explanation.decision, explanation.problem) == (decision, None)
    order = evaluation_order(parse_rules(filters).conditions)
    assert [
        item.index for item in sorted(explanation.conditions, key=lambda item: item.position)
    ] == order
    is_hit = DecisionReason.CONDITION_MATCH
    hits = [
        item
        for item in explanation.conditions
        if item.is_reached and item.decision is not None and item.decision.reason is is_hit
    ]
    if decision.reason is is_hit:
        assert [(item.index, item.decision and item.decision.value) for item in hits] == [
            (decision.condition_index, decision.value)
        ]
    else:
        assert hits == []


@given(FILTERS, SUBJECTS)
def test_a_condition_matches_when_each_of_its_parts_does(filters: Json, subject: Subject) -> None:
    for item in explain(flag_set(filters), "flag", subject, NOW).conditions:
        assert item.decision is not None
        is_unmatched = item.decision.reason is DecisionReason.NO_CONDITION_MATCH
        assert all(leaf.matches for leaf in item.leaves) is not is_unmatched


@given(SUBJECTS)
def test_the_buckets_are_those_of_the_hash(subject: Subject) -> None:
    buckets = explain(flag_set({"groups": [{}]}), "flag", subject, NOW).buckets

    assert buckets is not None
    assert buckets.rollout == bucket("flag", subject.distinct_id)
    assert buckets.variant == bucket("flag", subject.distinct_id, "variant")


def test_what_could_not_be_read_is_not_known() -> None:
    plan = {"type": "person", "key": "plan", "value": "pro"}
    static = {"type": "cohort", "key": "id", "value": 5}
    subject = Subject("u", sent={"age": 1}, stored=None, cohorts=None)

    explanation = explain(
        flag_set({"groups": [{"properties": [plan, static]}]}), "flag", subject, NOW
    )

    assert explanation.decision is None
    assert explanation.problem == "what is stored of the subject could not be read"
    [condition] = explanation.conditions
    assert condition.decision is None
    assert condition.leaves[0].matches is None
    assert condition.leaves[0].is_set is None


def test_a_kept_identity_that_could_not_be_read_gives_no_bucket() -> None:
    half = {"groups": [{"rollout_percentage": 50}]}
    flags = flag_set(half, ensure_experience_continuity=True)

    explanation = explain(flags, "flag", Subject("u", hash_keys=None), NOW)

    assert (explanation.decision, explanation.buckets) == (None, None)


def test_a_flag_that_cannot_be_computed_says_why() -> None:
    on_itself = {"type": "flag", "key": "1", "value": True, "operator": "flag_evaluates_to"}

    explanation = explain(
        flag_set({"groups": [{"properties": [on_itself]}]}), "flag", Subject("u"), NOW
    )

    assert explanation.decision is None
    assert explanation.problem == "depends on itself, or on a flag that does"
