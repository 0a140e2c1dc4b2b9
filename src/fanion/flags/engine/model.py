"""The nouns of an evaluation: the decision and its reason, the subject, and one run."""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Decision:
    """One of the few answers that a flag can give; all of them are made when it is loaded.

    value:           false, true, or the variant's key
    payload:         as stored; None when the flag is off or there is none worth sending
    condition_index: place of the condition in the stored order; None without one
    """

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


DISABLED = Decision(False, DecisionReason.DISABLED)
NO_GROUP_TYPE = Decision(False, DecisionReason.NO_GROUP_TYPE)


class CannotCompute(Exception):
    """The flag has no answer now: it is left out, and the error marker says so."""


class Evaluation(Struct, frozen=True, gc=False):
    """Answers by flag key, the keys of the flags that could not be computed, and the time of it."""

    decisions: Mapping[str, Decision]
    failed: frozenset[str]
    evaluated_at: datetime


Stored = Mapping[str, Any]


class Subject(Struct, frozen=True, gc=False):
    """None stands for "could not be read", an empty value for "nothing there".

    sent, geoip:      person properties of the request, and of the caller's address
    stored:           of the person that owns the distinct id; {} when no person owns it
    cohorts:          ids of the cohorts that count the person as a member, of those asked for
    groups:           group type name → key, both as text
    group_properties: group type name → properties of the request
    stored_groups:    group type name → stored properties of that group
    hash_keys:        flag key → distinct id stored for experience continuity
    device_id:        of the request; flags that go by device hash it

    source: flags.md section 6
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
    """Properties of which the stored part could not be read: asking for that part has no answer."""

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            raise CannotCompute(key) from None

    def __contains__(self, key: object) -> bool:
        if super().__contains__(key):
            return True
        raise CannotCompute(key)


class EvaluationRun:
    """One evaluation: the subject's properties merged, and the decisions made so far."""

    __slots__ = ("_groups", "_subject", "cohorts", "decisions", "device", "hash_keys", "identity",
                 "now", "properties")  # fmt: skip

    def __init__(self, subject: Subject, now: datetime) -> None:
        self.now = now
        # Half a surrogate pair, which JSON can carry, is hashed as the question mark it prints as.
        self.identity = subject.distinct_id.encode(errors="replace")
        self.properties = person_properties(subject)
        self.cohorts = subject.cohorts
        self.hash_keys = subject.hash_keys
        device_id = subject.device_id
        self.device = device_id.encode(errors="replace") if device_id else None
        self.decisions: dict[str, Decision] = {}
        self._subject = subject
        self._groups: dict[str, tuple[Properties, bytes] | None] = {}

    def group(self, type_name: str) -> tuple[Properties, bytes] | None:
        """Properties and hashed key of the request's group of a type; None without one."""
        try:
            return self._groups[type_name]
        except KeyError:
            key = self._subject.groups.get(type_name)
            found = None
            if key is not None:
                found = self._properties_of(type_name, key), key.encode(errors="replace")
            self._groups[type_name] = found
            return found

    def _properties_of(self, type_name: str, key: str) -> Properties:
        sent = self._subject.group_properties.get(type_name) or {}
        stored_groups = self._subject.stored_groups
        stored = None if stored_groups is None else stored_groups.get(type_name, {})
        return _merged(stored, {"$group_key": key, **sent})


def person_properties(subject: Subject) -> Properties:
    """Sent hides geographical hides the implied `distinct_id` hides stored, name by name."""
    known = {"distinct_id": subject.distinct_id, **subject.geoip, **subject.sent}
    return _merged(subject.stored, known)


def _merged(stored: Stored | None, known: dict[str, Any]) -> Properties:
    if stored is None:
        return OnlyKnown(known)
    return {**stored, **known} if stored else known
