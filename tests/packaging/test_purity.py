"""Files of the product are pure unless their names say which input or output they do."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "fanion"
# The packages about the product. The others consist of input and output: stores, processes,
# sockets.
PACKAGES = (
    "accounts", "activity", "cohorts", "console", "events", "experiments", "exports", "flags",
    "groups", "ingest", "insights", "persons", "projects", "properties", "rest", "transfer",
    "webhooks", "wire",
)  # fmt: skip
KINDS = re.compile(
    r"(^|_)(api|cache|client|consumer|endpoints|main|offload|reader|retry|service|store|worker|writer)$"
)
# Folders of stores: they read and write tables in a transaction of the caller.
FOLDERS = {"storage", "importing"}
IMPURE = {
    "aiosqlite", "asyncio", "asyncpg", "chdb", "clickhouse_connect", "httpx", "litestar", "logging",
    "os", "pathlib", "random", "secrets", "socket", "sqlalchemy", "sqlite3", "structlog",
    "subprocess", "threading", "time",
}  # fmt: skip
# Types without input and output, of libraries that have them elsewhere.
PURE_PARTS = ("httpx.InvalidURL", "httpx.URL", "litestar.openapi.")
FILES = [
    path.relative_to(SOURCE)
    for package in PACKAGES
    for path in sorted((SOURCE / package).rglob("*.py"))
    if not KINDS.search(path.stem) and FOLDERS.isdisjoint(path.relative_to(SOURCE).parts)
]


def imported_packages(source: str) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.partition(".")[0] for name in modules if not name.startswith(PURE_PARTS)}


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_file_without_a_kind_in_its_name_is_pure(file: Path) -> None:
    assert imported_packages((SOURCE / file).read_text()) & IMPURE == set()


def test_every_package_holds_pure_files() -> None:
    assert {file.parts[0] for file in FILES} == set(PACKAGES)


def test_imports_within_functions_count() -> None:
    assert imported_packages("def f():\n    import os.path\n    from time import sleep") == {
        "os",
        "time",
    }
