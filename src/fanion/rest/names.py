"""Names that a client sent and that are none of ours: refused, with the nearest one that is.

source: flags.md, "Strictness"
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from fanion.errors import Invalid

# Clients send these with any request: credentials, the format of the answer, a counter against
# caches, and the place in a list.
QUERY_NAMES = frozenset(
    {
        *("token", "api_key", "personal_api_key", "format", "_"),
        *("limit", "offset", "page", "page_size"),
    }
)
# A body may hold the key of who asks, beside its fields.
CREDENTIAL_NAMES = frozenset({"personal_api_key", "api_key", "token"})
# Of an unknown name as it is compared and repeated; comparing takes the square of it.
NAME_CHARS_MAX = 100
# So many are told where none is alike.
LISTED_MAX = 12
_LIKENESS_MIN = 0.45


def require_known(sent: Iterable[str], known: Collection[str], at: str = "") -> None:
    """at: where the names stand, in the form of `attr`: `filters__groups__0`

    raises: Invalid for the first that is not known; `attr` names its place
    """
    for name in sent:
        if name not in known:
            raise _unknown("field", name, known, at)


def require_known_query(sent: Iterable[str], known: Collection[str]) -> None:
    """raises: Invalid for the first parameter that neither the operation nor every one takes"""
    for name in sent:
        if name not in known and name not in QUERY_NAMES:
            raise _unknown("query parameter", name, known or QUERY_NAMES, "")


def suggestion(word: str, known: Collection[str]) -> str:
    """The nearest of the known words, and where none is like it, all of a few; a sentence."""
    nearest = get_close_matches(word[:NAME_CHARS_MAX], sorted(known), n=1, cutoff=0.0)
    if get_close_matches(word[:NAME_CHARS_MAX], nearest, cutoff=_LIKENESS_MIN):
        return f'Did you mean "{nearest[0]}"?'
    if len(known) <= LISTED_MAX:
        return f"Allowed are: {', '.join(sorted(known))}."
    return f'The nearest known name is "{nearest[0]}".'


def shortened(value: object) -> str:
    """A value as it is repeated in an error."""
    text = str(value)
    return text if len(text) <= NAME_CHARS_MAX else f"{text[:NAME_CHARS_MAX]}…"


def _unknown(what: str, name: str, known: Collection[str], at: str) -> Invalid:
    told = shortened(name)
    return Invalid(
        f'Unknown {what} "{told}". {suggestion(name, known)}',
        attr=f"{at}__{told}" if at else told,
    )
