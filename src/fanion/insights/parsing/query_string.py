"""Decoding of a question in a query string, where lists and objects are JSON.

Source: insights.md, section 1a.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fanion.errors import Invalid
from fanion.rest.body_reader import is_deep

JSON_NAMES: Final = frozenset(
    {
        *("events", "actions", "new_entity", "properties", "exclusions", "breakdowns", "formulas"),
        *("formulaNodes", "target_entity", "returning_entity", "path_groupings"),
        *("exclude_events", "include_event_types", "local_path_cleaning_filters"),
        *("funnel_filter", "funnel_custom_steps", "stickiness_criteria"),
        *("retention_custom_brackets",),
        *("funnel_correlation_names", "funnel_correlation_exclude_names"),
        *("funnel_correlation_event_names", "funnel_correlation_exclude_event_names"),
        *("funnel_correlation_person_entity", "funnel_correlation_property_values"),
    }
)
# A list of texts, or one text. The text may begin with a bracket: the name of a bin does.
_LISTS_OR_TEXT: Final = frozenset({"breakdown", "funnel_step_breakdown", "breakdown_value"})


def decode_parameters(sent: Mapping[str, str]) -> dict[str, Any]:
    """Decode the values of the names in JSON_NAMES; leave the others as text.

    Raises:
        Invalid: The text of such a value is not JSON.
    """
    return {name: _value(name, text) for name, text in sent.items()}


def _value(name: str, text: str) -> Any:
    if name in _LISTS_OR_TEXT:
        return _list_or_text(text, of_ids=name == "breakdown")
    if name not in JSON_NAMES or not text:
        return text
    try:
        value = msgspec.json.decode(text)
        if is_deep(value):
            raise ValueError
    except (ValueError, RecursionError):
        raise Invalid("This value must be valid JSON.", attr=name) from None
    return value


def _list_or_text(text: str, *, of_ids: bool) -> Any:
    """Return the list in a text, or the text itself when it is not such a list.

    Args:
        of_ids: A list may contain numbers, which are ids of cohorts. Otherwise a list of numbers is
            the name of a bin and stays text.
    """
    if not text.startswith("["):
        return text
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    kinds = (str, int) if of_ids else str
    is_list = isinstance(value, list) and all(isinstance(item, kinds) for item in value)
    return value if is_list else text
