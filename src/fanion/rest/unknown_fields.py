"""Rejects unknown names in requests, with the most similar known name.

source: flags.md, "Strictness"
"""

from collections.abc import Collection, Iterable, Mapping
from difflib import SequenceMatcher
from typing import Any

from fanion.errors import Invalid

# Query parameters that clients send with any request: credentials, the response format, and a
# counter against caches.
QUERY_NAMES = frozenset({"token", "api_key", "personal_api_key", "format", "_"})
FORMAT = "json"  # of every response, unless the operation declares another
# A body may contain the caller's key in addition to its fields.
CREDENTIAL_NAMES = frozenset({"personal_api_key", "api_key", "token"})
NAME_CHARS_MAX = 100  # of an unknown name in an error
# Limits of the comparison of a word with the known names: about 3 ms on the event loop.
COMPARED_CHARS_MAX = 50
COMPARED_MAX = 200
LISTED_MAX = 12  # known names in an error, when none is similar
_SIMILARITY_MIN = 0.45


def require_known(sent: Iterable[str], known: Collection[str], at: str = "") -> None:
    """at: place of the names, as in `attr`: `filters__groups__0`

    raises: Invalid for the first unknown name; `attr` is its place
    """
    for name in sent:
        if name not in known:
            raise _unknown("field", name, known, at)


def require_only(body: Any, known: Collection[str]) -> None:
    """For an operation without a body: rejects fields, which would have no effect.

    body:   decoded; known: allowed names
    raises: Invalid for the first other name, and for a body that is not an object
    """
    if body in (None, "", []):
        return
    if not isinstance(body, dict):
        found = type(body).__name__
        raise Invalid(f"Invalid data. Expected a dictionary, but got {found}.")
    require_known((name for name in body if name not in CREDENTIAL_NAMES), known)


def require_known_query(sent: Iterable[tuple[str, str]], known: Collection[str]) -> None:
    """sent: names with their values; known: those of the operation

    raises: Invalid for the first parameter that the operation does not take
    """
    for name, value in sent:
        if name not in known and name not in QUERY_NAMES:
            raise _unknown("query parameter", name, known or QUERY_NAMES, "")
        if name == "format" and name not in known and value not in ("", FORMAT):
            raise no_choice(value, {FORMAT}, name)


def require_supported(
    sent: Mapping[str, Any], unsupported: Mapping[str, str], at: str = ""
) -> None:
    """unsupported: fields of PostHog without effect here, each with advice

    raises: Invalid for the first with a value that is not idle
    """
    for name, instead in unsupported.items():
        if name in sent and not is_idle(sent[name]):
            attr = f"{at}__{name}" if at else name
            raise Invalid(f'"{name}" is not supported. {instead}'.rstrip(), attr=attr)


def is_idle(value: Any) -> bool:
    """Null, false, 0 or empty: the value requests nothing."""
    return value is None or value in (False, "", [], {})


def suggestion(word: str, known: Collection[str]) -> str:
    """A sentence with the most similar known word, or all of them if there are few."""
    if not known:
        return "None are allowed here."
    nearest, similarity = _nearest(word[:COMPARED_CHARS_MAX], known)
    if similarity >= _SIMILARITY_MIN:
        return f'Did you mean "{nearest}"?'
    if len(known) <= LISTED_MAX:
        return f"Allowed are: {', '.join(sorted(known))}."
    return f'The nearest known name is "{nearest}".'


def _nearest(word: str, known: Collection[str]) -> tuple[str, float]:
    """The most similar name, with its similarity from 0 to 1. Most names are excluded by an upper
    bound, at a tenth of the cost of a comparison."""
    matcher = SequenceMatcher(b=word)
    nearest, similarity = "", 0.0
    compared: Collection[str] = known
    if len(known) > COMPARED_MAX:
        first = word[:1].lower()
        compared = [name for name in known if name[:1].lower() == first] or known
    for name in sorted(compared)[:COMPARED_MAX]:
        matcher.set_seq1(name)
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < similarity:
            continue
        if (ratio := matcher.ratio()) >= similarity:
            nearest, similarity = name, ratio
    return nearest, similarity


def no_choice(value: object, choices: Collection[str], attr: str | None) -> Invalid:
    """Error for a value that is not one of the choices."""
    quoted = shortened(value)
    return Invalid(
        f'"{quoted}" is not a valid choice. {suggestion(quoted, choices)}',
        code="invalid_choice",
        attr=attr,
    )


def shortened(value: object) -> str:
    """A value as it is quoted in an error."""
    text = str(value)
    return text if len(text) <= NAME_CHARS_MAX else f"{text[:NAME_CHARS_MAX]}…"


def _unknown(what: str, name: str, known: Collection[str], at: str) -> Invalid:
    quoted = shortened(name)
    return Invalid(
        f'Unknown {what} "{quoted}". {suggestion(name, known)}',
        attr=f"{at}__{quoted}" if at else quoted,
    )
