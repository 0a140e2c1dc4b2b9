"""Search, filters and order of lists of flags.

Source: flags.md section 13.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, get_args

import msgspec

from fanion.errors import Invalid
from fanion.flags.engine.definition import ANYWHERE, EvaluationRuntime
from fanion.rest.unknown_fields import choice
from fanion.rest.validation import INTEGER_CHARS_MAX

Kind = Literal["boolean", "multivariant", "experiment"]

STALE = "STALE"
STALE_AFTER = timedelta(days=30)
STALE_DAYS = 30
STALE_DAYS_MAX = 90  # evaluations are kept no longer
_ACTIVE = ("true", "false", STALE)
_KINDS: tuple[Kind, ...] = ("boolean", "multivariant", "experiment")
_ORDERS = ("id", "key", "name", "active", "created_at")


class StaleReason(StrEnum):
    """The reason why a flag is no longer needed.

    A flag that is fully rolled out has the same value for every subject.
    """

    FULLY_ROLLED_OUT = "fully_rolled_out"
    NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True, slots=True)
class Candidate:
    """The fields of a flag that a query compares.

    Attributes:
        filters: With `groups`.
    """

    id: int
    key: str
    name: str
    active: bool
    filters: Mapping[str, Any]
    tags: Collection[str]
    creator_id: int | None
    created_at: datetime
    runtime: str | None = None
    has_experiment: bool = False


@dataclass(frozen=True, slots=True)
class Staleness:
    """The criteria for flags that are no longer needed.

    Attributes:
        last_evaluated: Flag key → time of the last evaluation.
        days: An older flag with no evaluation for this many days counts as unused.
    """

    last_evaluated: Mapping[str, datetime]
    days: int = STALE_DAYS

    def reason(self, flag: Candidate, now: datetime) -> StaleReason | None:
        """Return why a flag is stale; None if it is needed, switched off, or too young."""
        before = now - timedelta(days=self.days)
        if not flag.active or flag.created_at > before:
            return None
        if answers_one_thing(flag.filters):
            return StaleReason.FULLY_ROLLED_OUT
        evaluated_at = self.last_evaluated.get(flag.key)
        if evaluated_at is None or evaluated_at < before:
            return StaleReason.NOT_EVALUATED
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagQuery:
    """A query for flags; everything that is set must match.

    Attributes:
        search: Part of the key or the name; case does not matter.
        active: `true`, `false` or `STALE`.
        tags: One of them must match.
        excluded: Keys to leave out.
        runtime: Where the flag is evaluated.
        staleness: Criteria by which the flag must be stale.
        order: A field, with `-` for descending; flags with equal values are listed newest first.
        deleted: Whether to search the deleted flags, and not the others.
    """

    search: str = ""
    active: str = ""
    kind: str = ""
    creator_id: int | None = None
    tags: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    runtime: str = ""
    staleness: Staleness | None = None
    order: str = ""
    deleted: bool = False

    @property
    def looks_at_filters(self) -> bool:
        return bool(self.kind) or self.active == STALE or self.staleness is not None

    def choose(self, flags: Iterable[Candidate], now: datetime) -> list[int]:
        """Return the ids of the flags that match, in the requested order."""
        matching = [flag for flag in flags if self.matches(flag, now)]
        matching.sort(key=lambda flag: (flag.created_at, flag.id), reverse=True)
        if self.order:
            matching.sort(key=self._sort_key, reverse=self.order.startswith("-"))
        return [flag.id for flag in matching]

    def matches(self, flag: Candidate, now: datetime) -> bool:
        text = self.search.lower()
        return (
            (text in flag.key.lower() or text in flag.name.lower())
            and self._is_in_state(flag, now)
            and (not self.kind or _is_of_kind(flag, self.kind))
            and (self.creator_id is None or self.creator_id == flag.creator_id)
            and (not self.tags or any(tag in self.tags for tag in flag.tags))
            and flag.key not in self.excluded
            and (not self.runtime or self.runtime == (flag.runtime or ANYWHERE))
            and (self.staleness is None or self.staleness.reason(flag, now) is not None)
        )

    def _is_in_state(self, flag: Candidate, now: datetime) -> bool:
        if self.active == STALE:
            return is_stale(flag, now)
        return not self.active or flag.active is (self.active == "true")

    def _sort_key(self, flag: Candidate) -> Any:
        value = getattr(flag, self.order.removeprefix("-"))
        return value.lower() if isinstance(value, str) else value


EVERYTHING = FlagQuery()


def read_flag_query(
    *,
    search: str | None = None,
    active: str | None = None,
    kind: str | None = None,
    created_by_id: str | None = None,
    tags: str | None = None,
    excluded: str | None = None,
    runtime: str | None = None,
    order: str | None = None,
) -> FlagQuery:
    """Parse the text parameters of a query; an unknown order counts as not given.

    Raises:
        Invalid: A parameter cannot be read.
    """
    return FlagQuery(
        search=(search or "").strip(),
        active=_choice(active, _ACTIVE, "active"),
        kind=_choice(kind, _KINDS, "type"),
        creator_id=_number(created_by_id, "created_by_id"),
        tags=frozenset(tag.strip().lower() for tag in _names(tags, "tags")),
        excluded=frozenset(_names(excluded, "excluded_properties")),
        runtime=_runtime(runtime),
        order=order if order and order.removeprefix("-") in _ORDERS else "",
    )


def _is_of_kind(flag: Candidate, kind: str) -> bool:
    """Return whether a flag is of a kind; one with an experiment is multivariant too."""
    return flag.has_experiment if kind == "experiment" else kind == kind_of(flag.filters)


def kind_of(filters: Mapping[str, Any]) -> Literal["boolean", "multivariant"]:
    """Return the kind of a flag by its variants."""
    return "multivariant" if _variants(filters) else "boolean"


def is_stale(flag: Candidate, now: datetime) -> bool:
    """Return whether the flag is on, old, and has the same value for every subject."""
    return flag.active and now - flag.created_at > STALE_AFTER and answers_one_thing(flag.filters)


def answers_one_thing(filters: Mapping[str, Any]) -> bool:
    for_all = [
        group
        for group in filters.get("groups") or ()
        if not group.get("properties") and group.get("rollout_percentage") in (None, 100)
    ]
    variants = _variants(filters)
    if not for_all or not variants:
        return bool(for_all)
    return any(group.get("variant") for group in for_all) or any(
        variant.get("rollout_percentage") == 100 for variant in variants
    )


def _variants(filters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    multivariate = filters.get("multivariate") or {}
    return multivariate.get("variants") or []


def _choice(text: str | None, choices: Collection[str], parameter: str) -> str:
    return choice(text, choices, parameter) if text else ""


def _runtime(text: str | None) -> str:
    """Parse a runtime; older interfaces send `both` for `all`."""
    named = ANYWHERE if text == "both" else text
    return _choice(named, get_args(EvaluationRuntime), "evaluation_runtime")


def _number(text: str | None, parameter: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= INTEGER_CHARS_MAX):
        raise Invalid("A valid integer is required.", attr=parameter)
    return int(text)


def _names(text: str | None, parameter: str) -> list[str]:
    if not text:
        return []
    try:
        return msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, RecursionError):
        raise Invalid(
            f'{parameter} must be a JSON list of texts, such as ["a"].', attr=parameter
        ) from None
