"""What the variants of a flag and their payloads may be when they are saved.

source: flags.md section 12
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fanion.errors import Invalid
from fanion.flags.validation.unchanged import StoredParts
from fanion.rest.unknown_fields import shortened


def check_variants(filters: Mapping[str, Any], before: StoredParts) -> Sequence[Mapping[str, Any]]:
    """The variants, each with a key and a share. raises: Invalid"""
    multivariate = filters.get("multivariate") or {}
    variants = multivariate.get("variants") if isinstance(multivariate, dict) else None
    if variants is None and isinstance(multivariate, dict):
        return []
    if not isinstance(variants, list) or not all(isinstance(v, dict) for v in variants):
        raise _invalid("Filters are not valid (multivariate must hold a list of variants)")
    if before.has_entry("multivariate", multivariate):
        return variants
    for place, variant in enumerate(variants):
        if not before.has(variant):
            _check_variant(variant, f"filters__multivariate__variants__{place}")
    if variants and _total(variants) != 100:
        raise Invalid("Invalid variant definitions: Variant rollout percentages must sum to 100.")
    seen: set[str] = set()
    for place, variant in enumerate(variants):
        key = variant["key"]
        if key in seen:
            at = f"filters__multivariate__variants__{place}__key"
            raise Invalid(f'There is another variant with the key "{shortened(key)}".', attr=at)
        seen.add(key)
    return variants


def _check_variant(variant: Mapping[str, Any], at: str) -> None:
    key, share, name = (variant.get(field) for field in ("key", "rollout_percentage", "name"))
    if not isinstance(key, str) or not _is_number(share):
        raise _invalid("Filters are not valid (a variant needs a key and a rollout_percentage)")
    if not key.strip():
        raise Invalid("This field may not be blank.", code="blank", attr=f"{at}__key")
    if name is not None and not isinstance(name, str):
        raise Invalid("Not a valid string.", attr=f"{at}__name")
    check_share(share, f"{at}__rollout_percentage")


def check_share(value: Any, at: str) -> None:
    if not _is_number(value):
        raise _invalid("Filters are not valid (rollout_percentage must be a number)")
    if not 0 <= value <= 100:
        raise Invalid(f"A percentage must be between 0 and 100, not {value}.", attr=at)


def _total(variants: Sequence[Mapping[str, Any]]) -> float:
    # Thirds written with two digits must still count as a hundred.
    total: float = sum(_share(variant) for variant in variants)
    return round(total, 2)


def _share(variant: Mapping[str, Any]) -> float:
    """A stored variant may have none that counts."""
    share = variant.get("rollout_percentage")
    return share if isinstance(share, int | float) else 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_payloads(
    filters: Mapping[str, Any], variants: Sequence[Mapping[str, Any]], before: StoredParts
) -> None:
    payloads = filters.get("payloads")
    same_variants = before.is_unchanged("multivariate", filters)
    if payloads is None or (same_variants and before.has_entry("payloads", payloads)):
        return
    if not isinstance(payloads, dict):
        raise _invalid("Payloads must be passed as a dictionary")
    keys = [variant.get("key") for variant in variants] or ["true"]
    for key, payload in payloads.items():
        if key not in keys and not (same_variants and before.has_payload(key, payload)):
            if not variants:
                raise _invalid("Payload keys must be 'true' for boolean flags")
            raise _invalid("Payload keys must match a variant key for multivariate flags")
        broken = isinstance(payload, str) and not _is_json(payload)
        if broken and not before.has_payload(key, payload):
            raise Invalid("Payload value is not valid JSON", attr=f"filters__payloads__{key}")


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_constant(name: str) -> None:
    """NaN and Infinity, which clients cannot read."""
    raise ValueError(name)


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, attr="filters")
