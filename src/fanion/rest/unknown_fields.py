"""Names that a client sent and that are none of ours: refused, with the nearest one that is.

source: flags.md, "Strictness"
"""

from collections.abc import Collection, Iterable, Mapping
from difflib import SequenceMatcher
from typing import Any

from fanion.errors import Invalid

# Clients send these with any request: credentials, the format of the answer, and a counter against
# caches.
QUERY_NAMES = frozenset({"token", "api_key", "personal_api_key", "format", "_"})
FORMAT = "json"  # of every answer, where the operation does not say otherwise
# A body may hold the caller's key in addition to its fields.
CREDENTIAL_NAMES = frozenset({"personal_api_key", "api_key", "token"})
# Of an unknown name as it is repeated.
NAME_CHARS_MAX = 100
# Of a word, and of names, as they are compared with each other: some 3 ms on the event loop.
COMPARED_CHARS_MAX = 50
COMPARED_MAX = 200
# At most so many are listed where none is similar.
LISTED_MAX = 12
_LIKENESS_MIN = 0.45


def require_known(sent: Iterable[str], known: Collection[str], at: str = "") -> None:
    """at: where the names stand, in the form of `attr`: `filters__groups__0`

    raises: Invalid for the first that is not known; `attr` names its place
    """
    for name in sent:
        if name not in known:
            raise _unknown("field", name, known, at)


def require_only(body: Any, known: Collection[str]) -> None:
    """For an operation that reads no body: fields without effect are refused.

    body:   decoded; known: names that may stand in it
    raises: Invalid for the first other one, and for what is no object
    """
    if body in (None, "", []):
        return
    if not isinstance(body, dict):
        found = type(body).__name__
        raise Invalid(f"Invalid data. Expected a dictionary, but got {found}.")
    require_known((name for name in body if name not in CREDENTIAL_NAMES), known)


def require_known_query(sent: Iterable[tuple[str, str]], known: Collection[str]) -> None:
    """sent: names with their values; known: those of the operation

    raises: Invalid for the first parameter that neither the operation nor every one takes
    """
    for name, value in sent:
        if name not in known and name not in QUERY_NAMES:
            raise _unknown("query parameter", name, known or QUERY_NAMES, "")
        if name == "format" and name not in known and value not in ("", FORMAT):
            raise no_choice(value, {FORMAT}, name)


def require_supported(
    sent: Mapping[str, Any], unsupported: Mapping[str, str], at: str = ""
) -> None:
    """unsupported: names of PostHog that have no effect here, each with what to do instead

    raises: Invalid for the first that asks for something
    """
    for name, instead in unsupported.items():
        if name in sent and not is_idle(sent[name]):
            attr = f"{at}__{name}" if at else name
            raise Invalid(f'"{name}" is not supported. {instead}'.rstrip(), attr=attr)


def is_idle(value: Any) -> bool:
    """Null, false, 0 or empty: it asks for nothing."""
    return value is None or value in (False, "", [], {})


def suggestion(word: str, known: Collection[str]) -> str:
    """The nearest of the known words, and where none is like it, all of a few; a sentence."""
    if not known:
        return "None are allowed here."
    nearest, likeness = _nearest(word[:COMPARED_CHARS_MAX], known)
    if likeness >= _LIKENESS_MIN:
        return f'Did you mean "{nearest}"?'
    if len(known) <= LISTED_MAX:
        return f"Allowed are: {', '.join(sorted(known))}."
    return f'The nearest known name is "{nearest}".'


def _nearest(word: str, known: Collection[str]) -> tuple[str, float]:
    """With its likeness, 0 to 1. Most names are ruled out by their letters alone, at a tenth of
    what comparing costs."""
    matcher = SequenceMatcher(b=word)
    nearest, likeness = "", 0.0
    compared: Collection[str] = known
    if len(known) > COMPARED_MAX:
        first = word[:1].lower()
        compared = [name for name in known if name[:1].lower() == first] or known
    for name in sorted(compared)[:COMPARED_MAX]:
        matcher.set_seq1(name)
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < likeness:
            continue
        if (ratio := matcher.ratio()) >= likeness:
            nearest, likeness = name, ratio
    return nearest, likeness


def no_choice(value: object, choices: Collection[str], attr: str | None) -> Invalid:
    """A word that is none of those that may stand there."""
    quoted = shortened(value)
    return Invalid(
        f'"{quoted}" is not a valid choice. {suggestion(quoted, choices)}',
        code="invalid_choice",
        attr=attr,
    )


def shortened(value: object) -> str:
    """A value as it is repeated in an error."""
    text = str(value)
    return text if len(text) <= NAME_CHARS_MAX else f"{text[:NAME_CHARS_MAX]}…"


def _unknown(what: str, name: str, known: Collection[str], at: str) -> Invalid:
    quoted = shortened(name)
    return Invalid(
        f'Unknown {what} "{quoted}". {suggestion(name, known)}',
        attr=f"{at}__{quoted}" if at else quoted,
    )
