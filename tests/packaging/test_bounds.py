"""Requirements are bounded where a later version may break the package, and tested within."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fanion.events.storage.store import NATIVE_VERSIONS
from tests.packaging.test_lock_files import LOCKS, locked_versions

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
REQUIRED = {found.name: found for found in map(Requirement, PROJECT["dependencies"])}
# The version is a date, which does not tell what breaks.
DATED = {"argon2-cffi", "structlog", "tzdata"}


@pytest.mark.parametrize("name", REQUIRED)
def test_a_requirement_has_a_lower_and_an_upper_bound(name: str) -> None:
    [bound] = REQUIRED[name].specifier

    assert bound.operator == (">=" if name in DATED else "~=")


@pytest.mark.parametrize("name", REQUIRED)
def test_what_the_tests_run_with_is_within_the_bounds(name: str) -> None:
    versions = locked_versions(LOCKS[0])[name]

    assert versions
    assert [version for version in versions if version not in REQUIRED[name].specifier] == []


def test_the_engine_is_of_a_release_whose_format_is_known() -> None:
    [release] = NATIVE_VERSIONS
    year, number = release.rstrip(".").split(".")
    specifier = REQUIRED["chdb-core"].specifier

    assert f"{release}99" in specifier
    assert f"{year}.{int(number) + 1}.0" not in specifier
    assert f"{year}.{int(number) - 1}.99" not in specifier
