"""The `properties` in the address of a list: conditions that hold for all it shows.

source: capture.md section 8
"""

from typing import Final

import msgspec

from fanion.errors import Invalid
from fanion.properties.filters import Property, parse_leaves
from fanion.properties.validation import check_comparison, check_names
from fanion.rest.body import is_deep

# Of one list; the statement's text grows with each.
CONDITIONS_MAX: Final = 100
_NAME: Final = "properties"


def read_conditions(text: str | None, of: str) -> tuple[Property, ...]:
    """A JSON list of conditions on events and persons; none for no text, an empty one, and null.

    of:     whose properties can be asked for, in words
    raises: Invalid
    """
    if not text:
        return ()
    try:
        raw = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise Invalid("Properties are unparsable!", attr=_NAME) from None
    try:
        if is_deep(raw):
            raise ValueError("nested too deeply")
        leaves = parse_leaves(raw)
    except ValueError as error:
        raise Invalid(f"Properties cannot be read: {error}.", attr=_NAME) from None
    if len(leaves) > CONDITIONS_MAX:
        raise Invalid(f"There are more than {CONDITIONS_MAX} properties.", attr=_NAME)
    found = tuple(leaf for leaf in leaves if isinstance(leaf, Property) and leaf.type != "group")
    if len(found) < len(leaves):
        raise Invalid(f"Only properties of {of} can be asked for.", attr=_NAME)
    for place, leaf in enumerate(raw or ()):
        check_names(leaf, f"{_NAME}__{place}")
        check_comparison(leaf, f"{_NAME}__{place}")
    return found
