"""Regular expressions of users, searched in linear time by RE2.

The binding's own `search` builds match objects and converts offsets; asking the extension
below it for a plain yes or no takes 0.9 µs instead of 5.7 µs.
"""

import importlib
from collections.abc import Callable
from typing import Any

_re2: Any = importlib.import_module("re2._re2")
_UNANCHORED = _re2.RE2.Anchor.UNANCHORED
_NOWHERE = (-1, -1)


def search(pattern: str) -> Callable[[str], bool] | None:
    """Compile into "is it found anywhere in the text"; None when RE2 cannot read the pattern.

    Case counts, `.` is any character but a line break, `$` is the end of the text.
    """
    options = _re2.RE2.Options()
    options.log_errors = False
    options.never_capture = True
    regex = _re2.RE2(_utf8(pattern), options)
    if not regex.ok():
        return None
    match = regex.Match

    def found(text: str) -> bool:
        encoded = _utf8(text)
        return bool(match(_UNANCHORED, encoded, 0, len(encoded))[0] != _NOWHERE)

    return found


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can carry
        return text.encode("utf-8", "replace")
