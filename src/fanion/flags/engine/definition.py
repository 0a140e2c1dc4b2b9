"""Stored flags, parsed once into types that evaluation need not check again.

Source: flags.md section 2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fanion.flags.engine.percentages import with_whole_percentages
from fanion.properties.filters import Behavioral, FlagIs, InCohort, Leaf, parse_leaves
from fanion.properties.operators import GROUP_TYPE_INDEX_MAX

BucketingIdentifier = Literal["distinct_id", "device_id"]
EvaluationRuntime = Literal["all", "client", "server"]
DEVICE_ID: BucketingIdentifier = "device_id"
ANYWHERE: EvaluationRuntime = "all"


@dataclass(frozen=True, slots=True)
class FlagRow:
    """A flag as it is stored.

    Whole percentages are integers, even if an earlier version stored the flag otherwise. None in
    the last fields but one means the default: bucketing by distinct id, every runtime and context.

    Attributes:
        rollout_percentage: The old column, for filters without groups.
        has_experiment: Whether an experiment that is not deleted uses the flag.
    """

    id: int
    key: str
    filters: Mapping[str, Any]
    rollout_percentage: float | None = None
    active: bool = True
    deleted: bool = False
    ensure_experience_continuity: bool | None = False
    version: int = 1
    name: str = ""
    bucketing_identifier: BucketingIdentifier | None = None
    evaluation_runtime: EvaluationRuntime | None = None
    evaluation_contexts: Sequence[str] | None = None
    has_experiment: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "filters", with_whole_percentages(self.filters))


@dataclass(frozen=True, slots=True)
class CohortRow:
    """A cohort as flags use it.

    Attributes:
        criteria: The tree of conditions; None for a static cohort.
    """

    id: int
    criteria: Any = None
    is_static: bool = False


@dataclass(frozen=True, slots=True)
class FlagDefinitions:
    """Everything that a project's flags are compiled from, from one snapshot of the store.

    Attributes:
        flags: Flags that are not deleted, in the order in which responses list them.
        group_types: Group type index → name.
        cohorts: Cohorts that are not deleted.
        version: Increases whenever any of them changes.
    """

    flags: Sequence[FlagRow] = ()
    group_types: Mapping[int, str] = field(default_factory=dict)
    cohorts: Sequence[CohortRow] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition set: all leaves must match, then the rollout decides.

    Attributes:
        rollout_percentage: None means 100.
    """

    leaves: tuple[Leaf, ...] = ()
    rollout_percentage: float | None = None
    variant: str | None = None

    @property
    def is_partial(self) -> bool:
        """Return whether a hash is needed: at 100 % every subject is included."""
        return self.rollout_percentage is not None and self.rollout_percentage < 100


@dataclass(frozen=True, slots=True)
class Variant:
    key: str
    rollout_percentage: float


@dataclass(frozen=True, slots=True)
class Rules:
    """A flag's parsed filters.

    Attributes:
        group_type_index: None for a flag that is evaluated for persons.
    """

    conditions: tuple[Condition, ...] = ()
    variants: tuple[Variant, ...] = ()
    payloads: Mapping[str, Any] = field(default_factory=dict)
    group_type_index: int | None = None
    super_condition: Condition | None = None
    holdout: Condition | None = None

    def leaves(self) -> Iterator[Leaf]:
        """Yield every leaf that evaluation tests; only the percentage of a holdout counts."""
        for condition in (*self.conditions, self.super_condition):
            if condition is not None:
                yield from condition.leaves

    @property
    def uses_hash(self) -> bool:
        """Return whether the identifier can change the answer at all."""
        conditions = (*self.conditions, self.super_condition, self.holdout)
        return bool(self.variants) or any(c is not None and c.is_partial for c in conditions)

    def flags_named(self) -> list[str]:
        """Return the ids (in decimal) or keys of the flags that this flag depends on."""
        return [leaf.flag for leaf in self.leaves() if isinstance(leaf, FlagIs)]


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag with its filters parsed.

    Attributes:
        rules: None if the stored filters cannot be read; such a flag cannot be computed.
        problem: Why the filters cannot be read, in English.
        by_device: Whether the device id is hashed when the request has one.
        runtime: Where the flag may be evaluated: `all`, `client` or `server`.
        contexts: Clients that name only other contexts do not get the flag; empty for every
            context.
        has_experiment: Whether an experiment uses it, so that SDKs keep what they report complete.
    """

    id: int
    key: str
    name: str
    version: int
    active: bool
    deleted: bool
    keeps_experience: bool
    rules: Rules | None
    problem: str | None = None
    by_device: bool = False
    runtime: EvaluationRuntime = ANYWHERE
    contexts: frozenset[str] = frozenset()
    has_experiment: bool = False


def grouped_filters(row: FlagRow) -> dict[str, Any]:
    """Return the filters with `groups`; older filters without it become the one group they mean."""
    if "groups" in row.filters:
        return dict(row.filters)
    rest = {name: value for name, value in row.filters.items() if name != "properties"}
    only = {
        "properties": row.filters.get("properties") or [],
        "rollout_percentage": row.rollout_percentage,
    }
    return {"groups": [only], **rest}


def with_holdout_groups(filters: Any) -> Any:
    """Return the filters with `holdout`, of later versions of PostHog, as the group that it means.

    A holdout that is not valid, or that contradicts `holdout_groups`, is left as it is, and so are
    filters that are not an object.

    Source: experiments.md, section 1, "Holdouts".
    """
    if not isinstance(filters, Mapping) or not _is_holdout(filters.get("holdout")):
        return filters
    sent = filters["holdout"]
    group = {
        "properties": [],
        "rollout_percentage": sent["exclusion_percentage"],
        "variant": f"holdout-{sent['id']}",
    }
    if filters.get("holdout_groups") not in (None, [], [group]):
        return filters
    rest = {name: value for name, value in filters.items() if name != "holdout"}
    return {**rest, "holdout_groups": [group]}


def _is_holdout(sent: Any) -> bool:
    if not isinstance(sent, dict) or sent.keys() != {"id", "exclusion_percentage"}:
        return False
    share = sent["exclusion_percentage"]
    return type(sent["id"]) is int and type(share) in (int, float) and 0 <= share <= 100


def payload_of(payloads: object, name: str) -> Any:
    """Return the payload for a variant, or for `true`; null and empty text count as no payload."""
    payload = payloads.get(name) if isinstance(payloads, Mapping) else None
    return None if payload == "" else payload


def compile_flag(row: FlagRow) -> Flag:
    """Compile a flag; one with broken filters gets a problem instead of rules, never an error."""
    rules, problem = None, None
    try:
        rules = parse_rules(row.filters, row.rollout_percentage)
    except ValueError as error:
        problem = str(error)
    by_person = rules is not None and rules.group_type_index is None
    by_device = row.bucketing_identifier == DEVICE_ID and by_person
    return Flag(
        id=row.id,
        key=row.key,
        name=row.name,
        version=row.version,
        active=row.active,
        deleted=row.deleted,
        # A device keeps its id across a login, so there is nothing to carry over.
        keeps_experience=bool(row.ensure_experience_continuity) and by_person and not by_device,
        rules=rules,
        problem=problem,
        by_device=by_device,
        runtime=row.evaluation_runtime or ANYWHERE,
        contexts=frozenset(row.evaluation_contexts or ()),
        has_experiment=row.has_experiment,
    )


def parse_rules(filters: object, rollout_percentage: float | None = None) -> Rules:
    """Parse stored filters; without a `groups` key they are one condition of the older form.

    Raises:
        ValueError: Names the part that cannot be read.
    """
    filters = _object(filters, "filters")
    if "groups" in filters:
        groups = _list(filters["groups"], "groups")
    else:
        older = {"properties": filters.get("properties"), "rollout_percentage": rollout_percentage}
        groups = [older]
    multivariate = _object(filters.get("multivariate"), "multivariate")
    payloads = filters.get("payloads")
    rules = Rules(
        conditions=tuple(_condition(group) for group in groups),
        variants=tuple(map(_variant, _list(multivariate.get("variants"), "variants"))),
        payloads=payloads if isinstance(payloads, dict) else {},
        group_type_index=_group_type_index(filters.get("aggregation_group_type_index")),
        super_condition=_first(filters.get("super_groups"), "super_groups"),
        holdout=_first(filters.get("holdout_groups"), "holdout_groups"),
    )
    by_group = rules.group_type_index is not None
    if by_group and any(isinstance(leaf, InCohort) for leaf in rules.leaves()):
        raise ValueError("cohort conditions cannot be used in a group-based flag")
    return rules


def _condition(raw: object) -> Condition:
    group = _object(raw, "a group")
    leaves = parse_leaves(group.get("properties"))
    if any(isinstance(leaf, Behavioral) for leaf in leaves):
        raise ValueError("conditions on events can only be used in a cohort")
    variant = group.get("variant")
    rollout = group.get("rollout_percentage")
    return Condition(
        leaves,
        None if rollout is None else _percentage(rollout),
        variant if isinstance(variant, str) and variant else None,
    )


def _variant(raw: object) -> Variant:
    variant = _object(raw, "a variant")
    key = variant.get("key")
    if not isinstance(key, str):
        raise ValueError("a variant must have a text key")
    return Variant(key, _percentage(variant.get("rollout_percentage")))


def _first(raw: object, name: str) -> Condition | None:
    """Return the first entry, the only one that counts for super groups and holdouts."""
    groups = _list(raw, name)
    return _condition(groups[0]) if groups else None


def _group_type_index(raw: object) -> int | None:
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw <= GROUP_TYPE_INDEX_MAX:
        raise ValueError(f"aggregation_group_type_index must be 0 to 4, not {raw!r}")
    return raw


def _percentage(raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise ValueError(f"rollout_percentage must be a number, not {raw!r}")
    return raw


def _object(raw: object, name: str) -> Mapping[str, Any]:
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise ValueError(f"{name} must be an object")
    return raw


def _list(raw: object, name: str) -> list[Any]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise ValueError(f"{name} must be a list")
    return raw
