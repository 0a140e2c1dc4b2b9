"""Rejection of unknown names in requests, with the most similar known name.

Source: flags.md, "Strictness".
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import takewhile
from typing import Any, TypeVar

from fanion.errors import Invalid

# Query parameters that clients send with any request: credentials, the response format, and a
# counter against caches.
QUERY_NAMES = frozenset({"token", "api_key", "personal_api_key", "format", "_"})
FORMAT = "json"  # the format of every response, unless the operation declares another
# A body may contain the caller's key in addition to its fields.
CREDENTIAL_NAMES = frozenset({"personal_api_key", "api_key", "token"})
NAME_CHARS_MAX = 100  # characters of an unknown name in an error
# Limits for comparing a word with the known names, which takes about 3 ms on the event loop.
COMPARED_CHARS_MAX = 50
COMPARED_MAX = 200
LISTED_MAX = 12  # known names in an error, when none is similar
EDITS_MAX = 3  # edits between a word and a name that is near
PART_CHARS_MIN = 3  # characters of a word that is the beginning or the end of a name
_FAR = 1_000

T = TypeVar("T", bound=str)


def require_known(sent: Iterable[str], known: Collection[str], at: str = "") -> None:
    """Raise Invalid for the first unknown name, with its path as `attr`.

    Args:
        at: The path of the names, as in `attr`: `filters__groups__0`.
    """
    for name in sent:
        if name not in known:
            raise _unknown("field", name, known, at)


def require_only(body: Any, known: Collection[str]) -> None:
    """Reject the fields of a body that the operation does not take, as they would have no effect.

    Args:
        body: The decoded body.
        known: The allowed names.

    Raises:
        Invalid: There is another name, or the body is not an object.
    """
    if body in (None, "", []):
        return
    if not isinstance(body, dict):
        type_name = type(body).__name__
        raise Invalid(f"Invalid data. Expected a dictionary, but got {type_name}.")
    require_known((name for name in body if name not in CREDENTIAL_NAMES), known)


def require_known_query(sent: Iterable[tuple[str, str]], known: Collection[str]) -> None:
    """Raise Invalid for the first query parameter that the operation does not take.

    Args:
        sent: Names with their values.
        known: The names that the operation takes.
    """
    for name, value in sent:
        if name not in known and name not in QUERY_NAMES:
            raise _unknown("query parameter", name, known or QUERY_NAMES, "")
        if name == "format" and name not in known and value not in ("", FORMAT):
            raise no_choice(value, {FORMAT}, name)


def require_supported(
    sent: Mapping[str, Any], unsupported: Mapping[str, str], at: str = ""
) -> None:
    """Raise Invalid for the first unsupported field whose value is not idle.

    Args:
        unsupported: Fields of PostHog that have no effect here, with advice.
    """
    for name, instead in unsupported.items():
        if name in sent and not is_idle(sent[name]):
            attr = f"{at}__{name}" if at else name
            raise Invalid(f'"{name}" is not supported. {instead}'.rstrip(), attr=attr)


def is_idle(value: Any) -> bool:
    """Return whether a value requests nothing: null, false, 0 or empty."""
    return value is None or value in (False, "", [], {})


def suggestion(word: str, known: Collection[str]) -> str:
    """Return a sentence with the nearest known word, or with all known words if they are few."""
    if not known:
        return "None are allowed here."
    nearest = _nearest(word[:COMPARED_CHARS_MAX].lower(), known)
    if nearest is not None:
        return f'Did you mean "{nearest}"?'
    if len(known) <= LISTED_MAX:
        return f"Allowed are: {', '.join(sorted(known))}."
    return "No known name is similar."


def _nearest(word: str, known: Collection[str]) -> str | None:
    """Return the known name that is nearest to the word; None if all are far.

    A name is near if at most a third of its letters differ, or if one of the two begins or ends
    with the other.
    """
    compared: Collection[str] = known
    if len(known) > COMPARED_MAX:
        compared = [name for name in known if name[:1].lower() == word[:1]] or known
    nearest, least = None, _FAR - 1.0
    for name in sorted(compared)[:COMPARED_MAX]:
        distance = _distance(word, name.lower())
        if distance <= least:
            nearest, least = name, distance
    return nearest


def _distance(word: str, name: str) -> float:
    short, long = sorted((word, name), key=len)
    edits_max, longer_by = min(len(long) // 3, EDITS_MAX), len(long) - len(short)
    if len(short) >= PART_CHARS_MIN and (long.startswith(short) or long.endswith(short)):
        return 1 + longer_by / 100
    edits = _edits(word, name, edits_max) if longer_by <= edits_max else _FAR
    return edits if edits <= edits_max else _FAR


def _edits(word: str, name: str, edits_max: int) -> int:
    """Count the letters to insert, remove, replace or swap with the next; stop above the limit."""
    pairs = zip(word, name, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    word, name = word[same:], name[same:]
    before: list[int] = []
    row = list(range(len(name) + 1))
    for position, letter in enumerate(word, 1):
        two_before, before, row = before, row, [_FAR] * (len(name) + 1)
        row[0] = position
        # Further from the diagonal, the edits exceed the limit.
        for other in range(max(1, position - edits_max), min(len(name), position + edits_max) + 1):
            own = name[other - 1]
            best = min(before[other] + 1, row[other - 1] + 1, before[other - 1] + (letter != own))
            if position > 1 < other and letter == name[other - 2] and word[position - 2] == own:
                best = min(best, two_before[other - 2] + 1)
            row[other] = best
        if min(row) > edits_max:
            return _FAR
    return row[-1]


def choice(text: str, choices: Collection[T], attr: str) -> T:
    """Return the choice that a text names.

    Raises:
        Invalid: The text names no choice.
    """
    for each in choices:
        if each == text:
            return each
    raise no_choice(text, choices, attr)


def no_choice(value: object, choices: Collection[str], attr: str | None) -> Invalid:
    """Return the error for a value that is not one of the choices."""
    quoted = shortened(value)
    return Invalid(
        f'"{quoted}" is not a valid choice. {suggestion(quoted, choices)}',
        code="invalid_choice",
        attr=attr,
    )


def shortened(value: object) -> str:
    """Return a value as it is quoted in an error."""
    text = str(value)
    return text if len(text) <= NAME_CHARS_MAX else f"{text[:NAME_CHARS_MAX]}…"


def _unknown(what: str, name: str, known: Collection[str], at: str) -> Invalid:
    quoted = shortened(name)
    return Invalid(
        f'Unknown {what} "{quoted}". {suggestion(name, known)}',
        attr=f"{at}__{quoted}" if at else quoted,
    )
