"""A secret in a file is read whole, or refused in one line that does not repeat it."""

from pathlib import Path

import pytest

from fanion.app.parts.accounts import SECRET_BYTES_MAX, read_secret
from fanion.config import SettingsError


def test_the_text_of_the_file_counts(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("very secret\n")

    assert read_secret("X_FILE", "", str(tmp_path / "secret")) == "very secret"
    assert read_secret("X_FILE", "in the variable", "") == "in the variable"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe", "cannot be read: it is not text"),
        (b" \n", "must hold 1 to 4096 bytes"),
        (b"x" * (SECRET_BYTES_MAX + 1), "must hold 1 to 4096 bytes"),
    ],
)
def test_a_file_without_a_secret_stops_the_start(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError) as caught:
        read_secret("X_FILE", "", str(path))

    assert str(caught.value) == f"FANION_X_FILE: {path} {reason}"
