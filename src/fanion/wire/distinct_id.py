"""The form in which distinct ids are stored and looked up."""

from typing import Any

import msgspec

DISTINCT_ID_CHARS_MAX = 200  # capture.md 1.9

_encode = msgspec.json.Encoder().encode


def stored_distinct_id(value: object) -> str:
    """Return the text under which a distinct id is stored, whoever sends it.

    A value that is not text becomes its JSON text. Text longer than DISTINCT_ID_CHARS_MAX is cut.
    NUL is replaced, because PostgreSQL does not store it.
    """
    text = value if isinstance(value, str) else _encode(value).decode()
    if len(text) > DISTINCT_ID_CHARS_MAX:
        text = text[:DISTINCT_ID_CHARS_MAX]
    return text.replace("\0", "\ufffd") if "\0" in text else text


def with_stored_ids(value: Any) -> Any:
    """Return a condition's value that also matches distinct ids that were cut.

    Args:
        value: A text, or a list of values; returned as it is if no text is longer than an id.
    """
    listed = value if isinstance(value, list) else [value]
    cut = [
        stored_distinct_id(text)
        for text in listed
        if isinstance(text, str) and len(text) > DISTINCT_ID_CHARS_MAX
    ]
    return [*listed, *cut] if cut else value
