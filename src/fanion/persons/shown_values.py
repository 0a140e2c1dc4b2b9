"""Values of properties in responses that would otherwise have no limit."""

from typing import Any

import msgspec

# Limits of the JSON of one value, and of all values in one response.
VALUE_BYTES_MAX = 2_000
VALUES_BYTES_MAX = 256 * 1024
CUT = (
    f"a value is left out because it has more than {VALUE_BYTES_MAX} bytes as JSON, or the "
    f"response has more than {VALUES_BYTES_MAX // 1024} KiB of values."
)

_encode = msgspec.json.Encoder().encode


class ShownValues:
    """The values of one response, which are shown until there are VALUES_BYTES_MAX of them."""

    def __init__(self) -> None:
        self._left = VALUES_BYTES_MAX

    def show(self, value: Any) -> tuple[Any, bool]:
        """Return the value, or None, and whether it is left out."""
        size = len(_encode(value))
        if size > min(VALUE_BYTES_MAX, self._left):
            return None, True
        self._left -= size
        return value, False
