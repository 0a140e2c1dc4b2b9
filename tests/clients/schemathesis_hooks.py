"""Requests that the API accepts although the document says otherwise, as PostHog does.

They are not failures. Texts, numbers and booleans stand for one another, and blanks around a text
do not count. A `limit`, an `offset` or a `page` that makes no sense counts as not given, and so
does `null` in a query.

Source: capture.md sections 10 and 11.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData, Failure

PAGING = {"limit", "offset", "page"}
_PLAIN = "(string|integer|number|boolean)"
# The text is "in body - name: Incorrect type", "parameter `hidden` in query - …", or one line for
# each.
_WRONG = re.compile(r"^.*?- (.+)$", re.MULTILINE)
_FIELD = re.compile(r"(?:.* at /properties/)?(\w+)")
_CHANGED = re.compile(rf"\(was ({_PLAIN}|null), became {_PLAIN}\)")


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], **kwargs: Any
) -> None:
    """Set the project's key, since a request with a random key would not be read further."""
    if isinstance(case.body, dict) and isinstance(case.body.get("api_key"), str):
        case.body["api_key"] = os.environ["FANION_TEST_PROJECT_KEY"]


@schemathesis.hook
def filter_failure(
    context: schemathesis.HookContext,
    failure: Failure,
    case: schemathesis.Case[Any],
    response: schemathesis.Response,
) -> bool:
    """Return False for a report that is not a failure, since all that is wrong is accepted."""
    if not isinstance(failure, AcceptedNegativeData):
        return True
    reported = failure.message.partition("Invalid component: ")[2]
    taken = _taken_in_query if " in query" in reported else _taken_in_body
    sent = case.query if " in query" in reported else case.body
    wrong = _WRONG.findall(reported)
    return not (wrong and all(taken(fault, _sent(sent, fault)) for fault in wrong))


def _taken_in_query(wrong: str, value: Any) -> bool:
    is_null = all(item in (None, "null") for item in _each(value))
    is_text = "(was string" in wrong or "(was array" in wrong  # any value is sent as text
    return is_null or is_text or _name(wrong) in PAGING


def _taken_in_body(wrong: str, value: Any) -> bool:
    if "Length`" in wrong:
        return isinstance(value, str) and value != value.strip()
    if "Incorrect type" in wrong:
        return all(isinstance(item, str | int | float) for item in _each(value))
    return _CHANGED.search(wrong) is not None


def _name(wrong: str) -> str:
    """Return the name of the field, the outermost one."""
    match = _FIELD.match(wrong)
    return match[1] if match else ""


def _sent(values: Any, wrong: str) -> Any:
    return values.get(_name(wrong)) if isinstance(values, Mapping) else None


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
