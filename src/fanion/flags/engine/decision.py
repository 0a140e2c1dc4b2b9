"""What a flag answers, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from msgspec import Struct


class Reason(StrEnum):
    CONDITION_MATCH = "condition_match"
    NO_CONDITION_MATCH = "no_condition_match"
    OUT_OF_ROLLOUT_BOUND = "out_of_rollout_bound"
    NO_GROUP_TYPE = "no_group_type"
    SUPER_CONDITION_VALUE = "super_condition_value"
    HOLDOUT_CONDITION_VALUE = "holdout_condition_value"
    DISABLED = "disabled"


_DESCRIPTIONS: Mapping[Reason, str] = {
    Reason.NO_CONDITION_MATCH: "No matching condition set",
    Reason.OUT_OF_ROLLOUT_BOUND: "Out of rollout bound",
    Reason.NO_GROUP_TYPE: "No group type",
    Reason.SUPER_CONDITION_VALUE: "Super condition value",
    Reason.HOLDOUT_CONDITION_VALUE: "Holdout condition value",
    Reason.DISABLED: "Flag is disabled",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """One of the few answers that a flag can give; all of them are made when it is loaded.

    value:           false, true, or the variant's key
    payload:         as stored; None when the flag is off or there is none worth sending
    condition_index: place of the condition in the stored order; None without one
    """

    value: bool | str
    reason: Reason
    condition_index: int | None = None
    payload: Any = None

    @property
    def variant(self) -> str | None:
        return self.value if isinstance(self.value, str) else None

    @property
    def enabled(self) -> bool:
        return self.value is not False

    @property
    def description(self) -> str:
        """The reason in words, as the newer answers carry it. source: flags.md section 19"""
        if self.reason is Reason.CONDITION_MATCH:
            return f"Matched condition set {(self.condition_index or 0) + 1}"
        return _DESCRIPTIONS[self.reason]


DISABLED = Decision(False, Reason.DISABLED)
NO_GROUP_TYPE = Decision(False, Reason.NO_GROUP_TYPE)


class CannotCompute(Exception):
    """The flag has no answer now: it is left out, and the error marker says so."""


class Evaluation(Struct, frozen=True, gc=False):
    """Answers by flag key, and the keys of the flags that could not be computed."""

    decisions: Mapping[str, Decision]
    failed: frozenset[str]

    @property
    def has_errors(self) -> bool:
        return bool(self.failed)
