"""Programs whose clock is off, by libfaketime."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

_NAME: Final = "faketime/libfaketimeMT.so.1"
_LIBRARIES: Final = (Path("/usr/lib"), Path("/usr/local/lib"))
RIGHT: Final[Mapping[str, str]] = {"LD_PRELOAD": "", "FAKETIME": "+0s"}


def clock_off_by(seconds: int) -> Mapping[str, str]:
    """Return environment variables for a program, or skip the test if the library is missing."""
    for folder in _LIBRARIES:
        if library := next(iter(folder.glob(f"*/{_NAME}")), None):
            shift = {"FAKETIME": f"{seconds:+}s", "DONT_FAKE_MONOTONIC": "1"}
            return {"LD_PRELOAD": str(library), **shift}
    pytest.skip("no libfaketime found: install the package `faketime`")
