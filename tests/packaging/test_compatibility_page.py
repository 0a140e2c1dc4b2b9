"""The page on compatibility names every path of the API, and none that does not exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.application import Tenant

PAGE = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text()
# All of its paths have their own row for the other prefix.
ALIAS = "/api/feature_flag/"
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n##")[0]


def rows(title: str) -> Iterator[tuple[list[str], str]]:
    """Yield the paths of each row of a section's table, and the rest of the row."""
    for row in section(title).splitlines():
        if row.startswith("| `/"):
            paths, _, rest = row.strip("| ").partition(" | ")
            yield re.findall(r"`([^`]+)`", paths), rest


def plain_path(path: str) -> str:
    """Return a path without names of parameters, query and last slash."""
    path = path.partition("?")[0].replace("@current", "{}")
    return re.sub(r"\{[^}]*\}", "{}", path).rstrip("/")


def spelled_out(paths: list[str]) -> Iterator[set[str]]:
    """Yield what each path may stand for.

    `…/x/` is below the path before it, or replaces its last part.
    """
    full = ""
    for path in map(plain_path, paths):
        if not path.startswith("…"):
            full = path
            yield {path}
            continue
        below, beside = full + path[1:], full.rpartition("/")[0] + path[1:]
        if not path.endswith("{}"):
            full = beside
        yield {below, beside}


def methods_in_schema(schema: dict[str, Any]) -> dict[str, set[str]]:
    """Return methods by path, without the project's prefix of paths below a project."""
    return {
        re.sub(r"^/api/projects/\{\}(?=/)", "", plain_path(path)): set(map(str.upper, methods))
        for path, methods in schema["paths"].items()
    }


def methods_on_page() -> dict[str, set[str]]:
    """Return methods by path, as the page documents the management API."""
    kinds: dict[str, set[str]] = {}
    for paths, rest in rows("Management endpoints"):
        methods = METHODS.intersection(re.findall(r"\b[A-Z]+\b", rest))
        for path in set().union(*spelled_out(paths)):
            kinds.setdefault(path, set()).update(methods)
    return kinds


@pytest.fixture
async def schema(tenant: Tenant) -> dict[str, Any]:
    document: dict[str, Any] = (await tenant.public.get("/api/schema/")).json()
    return document


async def test_every_path_and_method_of_the_api_is_on_the_page(schema: dict[str, Any]) -> None:
    public = {plain_path(path) for paths, _ in rows("Public endpoints") for path in paths}
    page = methods_on_page()

    missing = {
        path: methods - page.get(path, set())
        for path, methods in methods_in_schema(schema).items()
        if path not in public and not methods <= page.get(path, set())
    }

    assert missing == {}


async def test_every_path_on_the_page_is_one_of_the_api(schema: dict[str, Any]) -> None:
    known = methods_in_schema(schema).keys()

    unknown = [
        paths
        for paths, _ in rows("Management endpoints")
        if not paths[0].startswith(ALIAS)
        and not all(known & spellings for spellings in spelled_out(paths))
    ]

    assert unknown == []


def test_the_tables_are_found() -> None:
    assert len(list(rows("Public endpoints"))) > 10
    assert len(list(rows("Management endpoints"))) > 40
