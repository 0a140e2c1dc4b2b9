"""The fields of a flag's filters, which are checked in this order and published.

Evaluation reads the same JSON into `flags.engine.definition.Rules`.

Source: flags.md sections 2, 12 and 19, "Strictness".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final

from fanion.errors import Invalid
from fanion.flags.definitions.validation.conditions import check_condition
from fanion.flags.definitions.validation.parts import (
    FilterPart,
    Part,
    is_list_of_objects,
    not_valid,
)
from fanion.rest.json_schema import NOTHING, listed, or_null, reference
from fanion.rest.options import Before, Option, Options, inner, read, unread
from fanion.rest.unknown_fields import is_idle, shortened

PAYLOADS, VARIANT = "FlagPayloads", "FlagVariant"


def _text(part: Part, name: str, _: Before) -> None:
    if not isinstance(part.values.get(name), str | None):
        raise part.error(name, "Not a valid string.")


def _share(part: Part, name: str, _: Before) -> None:
    value = part.values.get(name)
    if value is None:
        return
    if not _is_number(value):
        raise not_valid("rollout_percentage must be a number")
    if not 0 <= value <= 100:
        raise part.error(name, f"A percentage must be between 0 and 100, not {value}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _variant_key(variant: Part, name: str, _: Before) -> None:
    key, share = variant.values.get(name), variant.values.get("rollout_percentage")
    if not isinstance(key, str) or not _is_number(share):
        raise not_valid("a variant needs a key and a rollout_percentage")
    if not key.strip():
        raise variant.error(name, "This field may not be blank.", "blank")


def _own_index(group: FilterPart, name: str, _: Before) -> None:
    if group.values.get(name) not in (None, group.change.index):
        raise group.error(
            name,
            "Condition sets by different group types are not supported. Set "
            "aggregation_group_type_index of the filters.",
        )


def _conditions(group: FilterPart, name: str, _: Before) -> None:
    sent = group.values.get(name)
    if sent is not None and not is_list_of_objects(sent):
        raise not_valid(f"{name} must be a list of conditions")
    for number, leaf in enumerate(sent or ()):
        if not group.change.is_accepted(leaf):
            check_condition(group.item(name, number, leaf))


def _condition_sets(filters: FilterPart, name: str, _: Before) -> None:
    sent = filters.values.get(name)
    if sent is not None and not isinstance(sent, list):
        raise not_valid(f"{name} must be a list")
    if not is_list_of_objects(sent or []):
        raise not_valid(f"{name} must be a list of condition sets")
    for number, group in enumerate(sent or ()):
        if not filters.change.is_accepted(group):
            read(ConditionSet, filters.item(name, number, group))


def _multivariate(filters: FilterPart, name: str, _: Before) -> "Multivariate":
    sent = filters.values.get(name) or {}
    if not isinstance(sent, dict):
        raise not_valid("multivariate must hold a list of variants")
    return read(Multivariate, filters.inner(name, sent))


def _variants(multivariate: FilterPart, name: str, _: Before) -> Sequence[Mapping[str, Any]] | None:
    """Return the variants, which all have a key and a share unless they are stored."""
    sent, change = multivariate.values.get(name), multivariate.change
    if sent is None:
        return None
    if not is_list_of_objects(sent):
        raise not_valid("multivariate must hold a list of variants")
    if not change.has_entry("multivariate"):
        variants = [multivariate.item(name, *numbered) for numbered in enumerate(sent)]
        for variant in variants:
            if not change.has_stored(variant.values):
                read(Variant, variant)
        _check_together(variants)
    return sent


def _check_together(variants: Sequence[Part]) -> None:
    # Thirds written with two digits must still count as a hundred.
    if variants and round(sum(map(_share_of, variants)), 2) != 100:
        raise Invalid("Invalid variant definitions: Variant rollout percentages must sum to 100.")
    seen: set[str] = set()
    for variant in variants:
        key = variant.values.get("key")
        # A stored variant may have no key.
        if not isinstance(key, str):
            continue
        if key in seen:
            detail = f'There is another variant with the key "{shortened(key)}".'
            raise variant.error("key", detail)
        seen.add(key)


def _share_of(variant: Part) -> float:
    """Return a variant's share; a stored variant may have none that is a number."""
    share = variant.values.get("rollout_percentage")
    return share if isinstance(share, int | float) else 0


def _unsupported(instead: str, *, unless_stored: bool = True) -> Option:
    """Return the option of a field that would have no effect.

    Args:
        instead: What to do instead.
        unless_stored: Whether the stored value is accepted.
    """

    def refuse(part: FilterPart, name: str, _: Before) -> None:
        is_kept = unless_stored and part.change.has_entry(name)
        if not is_idle(part.values.get(name)) and not is_kept:
            raise part.error(name, f'"{name}" is not supported. {instead}')

    return Option(refuse, {**NOTHING, "description": f"Not supported. {instead}"})


def _older_form(filters: FilterPart, name: str, _: Before) -> None:
    if filters.values.get(name) and not filters.change.has_entry(name):
        detail = "properties next to groups are not evaluated. Put them into a condition set in"
        raise filters.error(name, f"{detail} groups.")


def _holdout(filters: FilterPart, name: str, _: Before) -> None:
    """Refuse what is left of a holdout when it has been made a group."""
    if is_idle(filters.values.get(name)) or filters.change.has_entry(name):
        return
    raise filters.error(
        name,
        'A holdout needs an "id" that is a whole number and an "exclusion_percentage" from 0 to '
        "100, nothing else, and no holdout_groups that differ from it.",
    )


# Only null: generators of clients have no type that is null alone.
_NULL: Final = {"type": ["integer", "null"], "not": {"type": "integer"}}
_NOT_FOR_PERSONS: Final = "Only for a flag of a group type."
_TEXT: Final = Option(_text, {"type": ["string", "null"]})
_SHARE: Final = Option(_share, {"type": ["number", "null"], "minimum": 0, "maximum": 100})
_KEY: Final = Option(_variant_key, {"type": "string", "pattern": r"\S"})
_VARIANTS: Final = Option(_variants, listed(reference(VARIANT)))
_CONDITIONS: Final = Option(_conditions, listed(reference("PersonCondition")))
_SETS: Final = Option(_condition_sets, listed(reference("PersonConditionSet")))
_OVERRIDE: Final = _unsupported("Use a condition set with a variant.", unless_stored=False)
_EARLY_EXIT: Final = _unsupported("Leave it out: the first condition set that matches decides.")


@dataclass(frozen=True, slots=True)
class Variant(Options):
    """A variant of a flag."""

    required = ("key", "rollout_percentage")

    key: ClassVar[Annotated[str, _KEY, "The value that SDKs return."]]
    name: ClassVar[Annotated[str | None, _TEXT, "A name for display."]]
    rollout_percentage: ClassVar[Annotated[float, _SHARE]]


@dataclass(frozen=True, slots=True)
class Multivariate(Options):
    """The variants of a flag."""

    override_property_values: ClassVar[Annotated[None, _OVERRIDE]]
    variants: Annotated[
        Sequence[Mapping[str, Any]], _VARIANTS, "Percentages sum to 100; keys are unique."
    ] = ()


@dataclass(frozen=True, slots=True)
class ConditionSet(Options):
    """The conditions for some persons or groups, and what they get."""

    known = frozenset({"sort_key", "description", "users_affected"})

    variant: ClassVar[Annotated[str | None, _TEXT, "Variant for all matches."]]
    aggregation_group_type_index: ClassVar[
        Annotated[int | None, Option(_own_index, _NULL), _NOT_FOR_PERSONS]
    ]
    rollout_percentage: ClassVar[
        Annotated[float | None, _SHARE, "Percentage of the matches that get the flag; null is 100."]
    ]
    properties: ClassVar[
        Annotated[list[Any], _CONDITIONS, "Conditions, combined by AND; without any, all match."]
    ]


@dataclass(frozen=True, slots=True)
class Holdout(Options):
    """The persons who get the variant of a holdout, in the form of later versions of PostHog."""

    required = ("id", "exclusion_percentage")

    id: ClassVar[Annotated[int, unread({"type": "integer"})]]
    exclusion_percentage: ClassVar[
        Annotated[float, unread({"type": "number", "minimum": 0, "maximum": 100})]
    ]


@dataclass(frozen=True, slots=True)
class Filters(Options):
    """The filters of a flag.

    Payloads and the group type are not read here: they have to fit the other fields.
    """

    required = ("groups",)

    early_exit: ClassVar[Annotated[None, _EARLY_EXIT]]
    feature_enrollment: ClassVar[Annotated[None, _unsupported("Use super_groups.")]]
    holdout: ClassVar[
        Annotated[
            None, replace(inner(Holdout), read=_holdout), "Stored as the first of holdout_groups."
        ]
    ]
    properties: ClassVar[
        Annotated[None, Option(_older_form, NOTHING), "The older form; use groups."]
    ]
    multivariate: Annotated[Multivariate, replace(inner(Multivariate), read=_multivariate)]
    groups: ClassVar[
        Annotated[
            list[Any],
            _SETS,
            "Condition sets, combined by OR; a new flag needs at least one.",
        ]
    ]
    super_groups: ClassVar[Annotated[list[Any], _SETS, "Early access; only the first is used."]]
    holdout_groups: ClassVar[
        Annotated[list[Any], _SETS, "The first excludes its share from the flag."]
    ]
    payloads: ClassVar[Annotated[dict[str, Any], unread(or_null(reference(PAYLOADS)))]]
    aggregation_group_type_index: ClassVar[Annotated[int | None, unread(_NULL), _NOT_FOR_PERSONS]]
