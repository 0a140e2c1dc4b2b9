"""A plain field of a resource is written in few places, which CONTRIBUTING.md lists."""

import re
from pathlib import Path

import pytest

LINES_MAX, FILES_MAX = 12, 7
SOURCES = Path(__file__).parents[2] / "src" / "fanion"


def places(field: str) -> list[str]:
    """Return the lines that name a field, without those of its migration."""
    word = re.compile(rf"\b{field}\b")
    return [
        f"{file.relative_to(SOURCES)}:{number}: {line.strip()}"
        for file in sorted(SOURCES.rglob("*.py"))
        if "migrations" not in file.parts
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if word.search(line)
    ]


@pytest.mark.parametrize("field", ["ensure_experience_continuity"])
def test_a_field_is_written_in_few_places(field: str) -> None:
    lines = places(field)

    files = {line.partition(":")[0] for line in lines}
    assert lines and len(lines) <= LINES_MAX and len(files) <= FILES_MAX, "\n".join(lines)
