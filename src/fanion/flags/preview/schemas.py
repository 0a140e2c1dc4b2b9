"""Requests about a flag as it would be saved, and the responses."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import Invalid
from fanion.flags.blast_radius.by_condition import ConditionReach, Ladder, LadderReach
from fanion.flags.definitions.schemas import FlagChanges, NewFlag
from fanion.flags.engine.definition import FlagRow
from fanion.flags.engine.explain import ExplainedCondition, ExplainedLeaf, Explanation
from fanion.flags.engine.model import Decision, disabled
from fanion.flags.preview.change import Result, estimate_total, ordered_transitions
from fanion.properties.filters import Behavioral, FlagIs, InCohort
from fanion.rest.validation import INTEGER_MAX, given_fields

# Limit of a property's value in a response; a person may have half a megabyte of properties.
COMPARED_CHARS_MAX = 500
# Comparisons of a flag that are listed as the reason.
COMPARED_MAX = 20

_encode = msgspec.json.Encoder().encode


FlagId = Annotated[
    int,
    Meta(
        ge=1,
        le=INTEGER_MAX,
        description="Id of the flag that would be changed; fields that are not sent keep their "
        "saved values. Without an id, a flag would be created.",
    ),
]
Text = Annotated[str, Meta(min_length=1)]


class UnsavedFlag(FlagChanges, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The writable fields of a flag. They are validated as they would be when it is saved."""

    id: FlagId | UnsetType | None = UNSET


class UnsavedEvaluation(UnsavedFlag, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An unsaved flag, and the person to evaluate it for.

    Send one of `distinct_id`, `email` (of exactly one person) and `person_id`; the default is the
    caller.
    """

    distinct_id: Text | UnsetType | None = UNSET
    email: Text | UnsetType | None = UNSET
    person_id: Annotated[UUID | UnsetType | None, Meta(description="Id of a person.")] = UNSET
    device_id: Annotated[
        str | UnsetType | None,
        Meta(description="For flags with `bucketing_identifier` `device_id`."),
    ] = UNSET
    groups: Annotated[
        dict[str, Any] | UnsetType | None, Meta(description="Group type → group key.")
    ] = UNSET
    person_properties: Annotated[
        dict[str, Any] | UnsetType | None, Meta(description="Take precedence over the stored ones.")
    ] = UNSET
    group_properties: Annotated[
        dict[str, Any] | UnsetType | None,
        Meta(description="Group type → properties; these take precedence over the stored ones."),
    ] = UNSET


def new_flag(data: UnsavedFlag) -> NewFlag:
    """Return the fields of a new flag.

    Raises:
        Invalid: There is no key.
    """
    fields = _flag_fields(data)
    fields.pop("version", None)
    if "key" not in fields:
        raise Invalid("This field is required.", code="required", attr="key")
    return NewFlag(**fields)


def flag_changes(data: UnsavedFlag) -> FlagChanges:
    return FlagChanges(**_flag_fields(data))


def _flag_fields(data: UnsavedFlag) -> dict[str, Any]:
    own = FlagChanges.__struct_fields__
    return {name: value for name, value in given_fields(data).items() if name in own}


# ── Evaluation ────────────────────────────────────────────────────────────────────────────


class ComparedProperty(Struct, kw_only=True):
    """One comparison of a condition."""

    key: str
    type: Annotated[str, Meta(description="`person`, `group`, `cohort` or `flag`.")]
    operator: str | None
    is_set: Annotated[
        bool | None, Meta(description="Whether the property exists; null for cohorts and flags.")
    ]
    compared: Annotated[
        Any,
        Meta(
            description="The value that was compared; a long value is cut text. For a cohort "
            "whether the person is a member, for a flag its value."
        ),
    ]
    source: Annotated[
        str | None, Meta(description="For a property: `sent`, `implied` or `stored`.")
    ]
    matches: Annotated[bool | None, Meta(description="Null if it cannot be known.")]


class EvaluatedCondition(Struct, kw_only=True):
    """A condition as if it were the flag's only one."""

    index: Annotated[int, Meta(description="Index in the filters.")]
    position: Annotated[
        int,
        Meta(
            description="Position in the order of evaluation; conditions with a variant come first."
        ),
    ]
    is_reached: Annotated[
        bool, Meta(description="Whether nothing before the condition has decided.")
    ]
    value: bool | str | None
    reason: Annotated[
        str | None,
        Meta(description="`condition_match`, `no_condition_match`, `out_of_rollout_bound`, …"),
    ]
    rollout_percentage: float | None
    variant: str | None
    properties: list[ComparedProperty]


class Bucket(Struct, kw_only=True):
    """The subject's buckets in percent; a rollout includes buckets at or below its percentage."""

    identifier: Annotated[str, Meta(description="The text that is hashed with the flag's key.")]
    rollout: float
    variant: float
    holdout: float


class ExplainedFlag(Struct, kw_only=True):
    """The answer of one version of a flag, and the reasons for it."""

    key: str
    active: bool
    value: Annotated[
        bool | str | None,
        Meta(description="Null if the flag cannot be computed; clients then get no value."),
    ]
    payload: Any
    reason: Annotated[
        str | None,
        Meta(description="As in `evaluation_reasons`; `disabled` if the flag is inactive."),
    ]
    condition_index: int | None
    problem: Annotated[str | None, Meta(description="Why the flag cannot be computed.")]
    bucket: Annotated[
        Bucket | None, Meta(description="Null for a group flag if no group of its type was sent.")
    ]
    super_condition: Annotated[
        EvaluatedCondition | None, Meta(description="The first of `super_groups`.")
    ]
    is_held_out: Annotated[bool | None, Meta(description="Null without `holdout_groups`.")]
    conditions: Annotated[
        list[EvaluatedCondition],
        Meta(description="One for each of `groups`, also if the flag is inactive."),
    ]


class UnsavedReasons(Struct, kw_only=True):
    distinct_id: str
    saved: Annotated[ExplainedFlag | None, Meta(description="Null if the flag is new or deleted.")]
    unsaved: Annotated[ExplainedFlag | None, Meta(description="Null if the flag would be deleted.")]


def explained_flag(row: FlagRow, explanation: Explanation) -> ExplainedFlag:
    """Return the explanation of a flag.

    Args:
        explanation: The explanation of the flag as if it were active.
    """
    decision = explanation.decision if row.active else disabled(row.key)
    return ExplainedFlag(
        key=row.key,
        active=row.active,
        value=_value(decision),
        payload=None if decision is None else decision.payload,
        reason=None if decision is None else decision.reason.value,
        condition_index=None if decision is None else decision.condition_index,
        problem=explanation.problem,
        bucket=_bucket(explanation),
        super_condition=None
        if explanation.early is None
        else _evaluated_condition(explanation.early),
        is_held_out=explanation.is_held_out,
        conditions=[_evaluated_condition(condition) for condition in explanation.conditions],
    )


def deciding_properties(explanation: Explanation) -> list[ComparedProperty]:
    """Return the comparisons of the condition that decided, or those that no condition passed."""
    decision, conditions = explanation.decision, explanation.conditions
    if decision is None or not conditions:
        return []
    if decision.condition_index is not None:
        leaves = [
            leaf
            for condition in conditions
            if condition.index == decision.condition_index
            for leaf in condition.leaves
        ]
    else:
        leaves = [leaf for each in conditions for leaf in each.leaves if not leaf.matches]
    return [_compared_property(leaf) for leaf in leaves[:COMPARED_MAX]]


def _value(decision: Decision | None) -> bool | str | None:
    return None if decision is None else decision.value


def _bucket(explanation: Explanation) -> Bucket | None:
    buckets = explanation.buckets
    if buckets is None:
        return None
    return Bucket(
        identifier=_cut_value(buckets.identifier),
        rollout=buckets.rollout * 100,
        variant=buckets.variant * 100,
        holdout=buckets.holdout * 100,
    )


def _evaluated_condition(explained: ExplainedCondition) -> EvaluatedCondition:
    return EvaluatedCondition(
        index=explained.index,
        position=explained.position,
        is_reached=explained.is_reached,
        value=_value(explained.decision),
        reason=None if explained.decision is None else explained.decision.reason.value,
        rollout_percentage=explained.condition.rollout_percentage,
        variant=explained.condition.variant,
        properties=[_compared_property(leaf) for leaf in explained.leaves],
    )


def _compared_property(explained: ExplainedLeaf) -> ComparedProperty:
    key, kind, operator = _leaf_names(explained)
    return ComparedProperty(
        key=key,
        type=kind,
        operator=operator,
        is_set=explained.is_set,
        compared=_cut_value(explained.compared),
        source=explained.source,
        matches=explained.matches,
    )


def _leaf_names(explained: ExplainedLeaf) -> tuple[str, str, str | None]:
    leaf = explained.leaf
    if isinstance(leaf, InCohort):
        return str(leaf.cohort_id), "cohort", "not_in" if leaf.negation else "in"
    if isinstance(leaf, FlagIs):
        return leaf.flag, "flag", leaf.operator
    if isinstance(leaf, Behavioral):
        return "", "behavioral", None
    return leaf.key, "group" if leaf.type == "group" else "person", leaf.operator


def _cut_value(value: Any) -> Any:
    """Return a value, or the beginning of its text if it is long."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else _encode(value).decode()
    return value if len(text) <= COMPARED_CHARS_MAX else f"{text[:COMPARED_CHARS_MAX]}…"


# ── Reach ─────────────────────────────────────────────────────────────────────────────────


class ReachedByCondition(Struct, kw_only=True):
    """The number of subjects that one condition reaches; null for counts that are unknown.

    Unknown is whom a condition on another flag matches, and what it leaves for later conditions.
    """

    matches: Annotated[int | None, Meta(description="Subjects that its properties match.")]
    already_taken: Annotated[
        int | None, Meta(description="How many of these are decided by something evaluated before.")
    ]
    rolled_out: Annotated[
        int | None, Meta(description="How many of these the condition itself rolls out to.")
    ]
    never_reached: Annotated[
        bool | None,
        Meta(
            description="True if it matches subjects, but earlier steps take all it would let in."
        ),
    ]


class FlagReach(Struct, kw_only=True):
    """Counts of persons, or of groups of the type for a group flag."""

    exact: Annotated[
        bool,
        Meta(description="False if a percentage decides: it counts as that share."),
    ]
    total_persons: int
    group_type_index: int | None
    super_groups: Annotated[
        int, Meta(description="Subjects decided by the first of `super_groups`.")
    ]
    holdout_groups: Annotated[
        int, Meta(description="Subjects then taken by the first of `holdout_groups`.")
    ]
    conditions: Annotated[list[ReachedByCondition], Meta(description="One for each of `groups`.")]


def flag_reach(ladder: Ladder, reach: LadderReach) -> FlagReach:
    return FlagReach(
        exact=ladder.is_exact,
        total_persons=reach.total,
        group_type_index=ladder.group_type_index,
        super_groups=reach.decided_early,
        holdout_groups=reach.held_out,
        conditions=[_reached_by_condition(condition) for condition in reach.conditions],
    )


def _reached_by_condition(reach: ConditionReach) -> ReachedByCondition:
    return ReachedByCondition(
        matches=reach.matches,
        already_taken=reach.already_taken,
        rolled_out=reach.rolled_out,
        never_reached=reach.never_reached,
    )


# ── Change ────────────────────────────────────────────────────────────────────────────────


class FlagTransition(Struct, kw_only=True):
    """Subjects by their values before and after the change; equal values are unchanged."""

    before: Annotated[bool | str | None, Meta(description="Null if the flag cannot be computed.")]
    after: bool | str | None
    persons: Annotated[int, Meta(description="Number among all; estimated unless `exact`.")]
    sampled_persons: Annotated[int, Meta(description="Number among those that were evaluated.")]


class FlagChangePreview(Struct, kw_only=True):
    """Counts of persons, or of groups of the type for a group flag.

    A flag that is new, inactive or deleted is false.
    """

    exact: Annotated[bool, Meta(description="Whether all persons were evaluated.")]
    group_type_index: int | None
    total_persons: int
    sampled_persons: Annotated[int, Meta(description="Number of persons that were evaluated.")]
    changed_persons: Annotated[
        int, Meta(description="Number of persons who would get another value.")
    ]
    transitions: list[FlagTransition]


def change_preview(index: int | None, result: Result) -> FlagChangePreview:
    transitions = [
        FlagTransition(
            before=before, after=after, persons=estimate_total(count, result), sampled_persons=count
        )
        for before, after, count in ordered_transitions(result.transitions)
    ]
    changed = sum(count for before, after, count in result.transitions if before != after)
    return FlagChangePreview(
        exact=result.evaluated == result.total,
        group_type_index=index,
        total_persons=result.total,
        sampled_persons=result.evaluated,
        changed_persons=estimate_total(changed, result),
        transitions=transitions,
    )
