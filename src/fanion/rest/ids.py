"""Ids in paths, typed: what does not fit names nothing, and is answered with 404."""

from typing import Annotated

from litestar.params import PathParameter

from fanion.rest.validation import INTEGER_CHARS_MAX, INTEGER_MAX

# A handler's path parameter: `flag_id: ObjectId`.
ObjectId = Annotated[int, PathParameter(ge=1, le=INTEGER_MAX)]


def object_id(text: str) -> int | None:
    """The same, for a path that the gate reads: plain decimal digits only."""
    if not (text.isascii() and text.isdigit() and len(text) <= INTEGER_CHARS_MAX):
        return None
    number = int(text)
    return number if 1 <= number <= INTEGER_MAX else None
