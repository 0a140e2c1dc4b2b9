"""Paths of the OpenAPI document with ids in the places of their parameters."""

import re
from collections.abc import Mapping

_PARAMETER = re.compile(r"(?:(\w+)/)?\{(\w+)\}")


def fill_path(path: str, ids: Mapping[str, object], other: str | None = None) -> str:
    """Return the path with ids.

    Args:
        ids: By the name of the parameter, or of the part of the path before it: each kind of
            object calls its own id `id`.
        other: Instead of an id that is not given; without it there must be none.
    """

    def filled(match: re.Match[str]) -> str:
        before, name = match.groups()
        known = ids.get(before, ids.get(name, other))
        assert known is not None, path
        return f"{before}/{known}" if before else str(known)

    return _PARAMETER.sub(filled, path)
