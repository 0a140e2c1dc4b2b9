"""Rules of a project that give many page paths one name, as `/user/<id>` for `/user/7`.

Source: insights.md, section 9.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fanion.errors import Invalid
from fanion.properties.values import compile_pattern
from fanion.rest.unknown_fields import require_known

RULES_MAX: Final = 50  # each rule is applied to every page view of a path
CHARS_MAX: Final = 400  # per pattern, and per replacement
FIELD: Final = "path_cleaning_filters"
_NAMES = frozenset({"regex", "alias", "order"})


def check_path_cleaning(rules: Sequence[Mapping[str, Any]], field: str = FIELD) -> None:
    """Raise Invalid if there are too many rules or one of them is not valid.

    Args:
        field: The name of the field, for errors.
    """
    if len(rules) > RULES_MAX:
        raise Invalid(
            f"Ensure this field has no more than {RULES_MAX} elements.",
            code="max_length",
            attr=field,
        )
    for position, rule in enumerate(rules):
        _check_rule(rule, f"{field}__{position}")
    orders = [rule["order"] for rule in rules if rule.get("order") is not None]
    if orders != sorted(orders):
        raise Invalid("The rules must be sorted by their order.", attr=field)


def _check_rule(rule: Mapping[str, Any], at: str) -> None:
    require_known(rule, _NAMES, at)
    for name in ("regex", "alias"):
        text = rule.get(name)
        if not isinstance(text, str):
            raise Invalid("Not a valid string.", attr=f"{at}__{name}")
        if len(text) > CHARS_MAX:
            detail = f"Ensure this field has no more than {CHARS_MAX} characters."
            raise Invalid(detail, code="max_length", attr=f"{at}__{name}")
    order = rule.get("order")
    if order is not None and (isinstance(order, bool) or not isinstance(order, int)):
        raise Invalid("A valid integer is required.", attr=f"{at}__order")
    if not rule["regex"] or compile_pattern(rule["regex"]) is None:
        raise Invalid("Not a valid regular expression (RE2).", attr=f"{at}__regex")
