"""A package shows its parts at a glance: a few files beside its folders."""

from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "fanion"
LOOSE_MAX = 12


@pytest.mark.parametrize(
    "package", sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
)
def test_a_package_has_few_loose_files(package: str) -> None:
    loose = [path.name for path in (SOURCE / package).glob("*.py") if path.stem != "__init__"]

    assert len(loose) <= LOOSE_MAX, f"{len(loose)} files: {', '.join(sorted(loose))}"
