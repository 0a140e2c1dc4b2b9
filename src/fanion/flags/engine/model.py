"""The types of an evaluation: the decision and its reason, the subject, and one run."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from fanion.properties.match import Properties


class DecisionReason(StrEnum):
    CONDITION_MATCH = "condition_match"
    NO_CONDITION_MATCH = "no_condition_match"
    OUT_OF_ROLLOUT_BOUND = "out_of_rollout_bound"
    NO_GROUP_TYPE = "no_group_type"
    SUPER_CONDITION_VALUE = "super_condition_value"
    HOLDOUT_CONDITION_VALUE = "holdout_condition_value"
    DISABLED = "disabled"


class Decision(Struct, frozen=True, eq=False, gc=False):
    """One of the few answers that a flag can give; all of them are made when the flag is loaded.

    Two decisions are equal only if they are the same object, so that what is made of a decision,
    such as its JSON, can be kept by decision.

    Attributes:
        key: The key of the flag.
        value: False, True, or the variant's key.
        payload: As stored; None when the flag is off or has no payload.
        condition_index: The position of the condition in the stored order; None if no condition
            decided.
    """

    key: str
    value: bool | str
    reason: DecisionReason
    condition_index: int | None = None
    payload: Any = None

    @property
    def variant(self) -> str | None:
        return self.value if isinstance(self.value, str) else None

    @property
    def enabled(self) -> bool:
        return self.value is not False


def disabled(key: str) -> Decision:
    """Return the decision of a flag that is switched off."""
    return Decision(key, False, DecisionReason.DISABLED)


class CannotCompute(Exception):
    """The flag has no answer now: the response leaves it out and sets its error marker."""


class Evaluation(Struct, frozen=True, gc=False):
    """Decisions by flag key, the keys of the flags that could not be computed, and the time."""

    decisions: Mapping[str, Decision]
    failed: frozenset[str]
    evaluated_at: datetime


Stored = Mapping[str, Any]


class Subject(Struct, frozen=True, gc=False):
    """The person or group that flags are evaluated for.

    None means that a value could not be read; an empty value means that there is nothing.

    Attributes:
        sent: Person properties in the request.
        geoip: Properties derived from the caller's address.
        stored: Stored properties of the person that owns the distinct id; {} if no person owns it.
        cohorts: Ids of the requested cohorts that count the person as a member.
        groups: Group type name → group key, both as text.
        group_properties: Group type name → group properties in the request.
        stored_groups: Group type name → stored properties of that group.
        hash_keys: Flag key → distinct id stored for experience continuity.
        device_id: The request's device id, which flags that bucket by device hash.

    Source: flags.md section 6.
    """

    distinct_id: str
    sent: Mapping[str, Any] = {}
    geoip: Mapping[str, Any] = {}
    stored: Stored | None = {}
    cohorts: frozenset[int] | None = frozenset()
    groups: Mapping[str, str] = {}
    group_properties: Mapping[str, Mapping[str, Any]] = {}
    stored_groups: Mapping[str, Stored] | None = {}
    hash_keys: Mapping[str, str] | None = {}
    device_id: str | None = None


class OnlyKnown(dict[str, Any]):
    """Known properties whose stored part could not be read; any other name raises CannotCompute."""

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            raise CannotCompute(key) from None

    def __contains__(self, key: object) -> bool:
        if super().__contains__(key):
            return True
        raise CannotCompute(key)


class EvaluationRun(dict[Callable[..., bool], bool]):
    """One evaluation: the subject's merged properties and the decisions made so far.

    As a mapping it holds the results of tests on the person's properties: each test runs at its
    first look-up, however many flags have it.
    """

    __slots__ = ("_groups", "_subject", "cohorts", "decisions", "device", "hash_keys", "identity",
                 "now", "properties")  # fmt: skip

    def __init__(self, subject: Subject, now: datetime) -> None:
        self.now = now
        # JSON can carry half of a surrogate pair; it is hashed as the question mark it prints as.
        self.identity = subject.distinct_id.encode(errors="replace")
        self.properties = person_properties(subject)
        self.cohorts = subject.cohorts
        self.hash_keys = subject.hash_keys
        device_id = subject.device_id
        self.device = device_id.encode(errors="replace") if device_id else None
        self.decisions: dict[str, Decision] = {}
        self._subject = subject
        self._groups: dict[str, tuple[Properties, bytes] | None] = {}

    def __missing__(self, test: Callable[..., bool]) -> bool:
        passed = self[test] = test(self.properties, self)
        return passed

    def group(self, type_name: str) -> tuple[Properties, bytes] | None:
        """Return the properties and the hashed key of the request's group of a type, or None."""
        try:
            return self._groups[type_name]
        except KeyError:
            key = self._subject.groups.get(type_name)
            group = None
            if key is not None:
                group = self._properties_of(type_name, key), key.encode(errors="replace")
            self._groups[type_name] = group
            return group

    def _properties_of(self, type_name: str, key: str) -> Properties:
        sent = self._subject.group_properties.get(type_name) or {}
        stored_groups = self._subject.stored_groups
        stored = None if stored_groups is None else stored_groups.get(type_name, {})
        return _merged(stored, {"$group_key": key, **sent})


def person_properties(subject: Subject) -> Properties:
    """Merge the person's properties by name.

    Sent properties take precedence, then geographical ones, then the implied `distinct_id`, then
    stored ones.
    """
    known = {"distinct_id": subject.distinct_id, **subject.geoip, **subject.sent}
    return _merged(subject.stored, known)


def _merged(stored: Stored | None, known: dict[str, Any]) -> Properties:
    if stored is None:
        return OnlyKnown(known)
    return {**stored, **known} if stored else known
