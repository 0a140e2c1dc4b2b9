"""The names on pages exist: paths, modules, links, identifiers, metrics, settings and limits.

A rename that forgets a page fails here.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from fanion.config import PREFIX, Settings

ROOT = Path(__file__).parents[2]
SOURCE, CONSOLE = ROOT / "src" / "fanion", ROOT / "console"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
# Pages name folders of the package without `src/fanion`.
FOLDERS = {path.name for root in (ROOT, SOURCE) for path in root.iterdir() if path.is_dir()}
# A folder of the data folder that has the name of a package.
DATA_FOLDER = {"events/"}
SETTINGS = {f"{PREFIX}{name.upper()}" for name in Settings.__struct_fields__}
MODULE = re.compile(r"(fanion|tests)(\.[a-z]\w*)+")
# Counting metrics are declared without the ending that Prometheus adds.
TOTAL = "_total"
# Identifiers that are not ours: of systems, engines, earlier and other programs, and examples.
FOREIGN = {
    "OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_METRICS_EXPORTER",
    "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME", "OTEL_TRACES_EXPORTER",
    "Atomic", "Pss", "REMOTE", "Referer", "Rss", "SO_REUSEPORT",
    "_part_offset", "all_tasks", "add_release_condition", "authentication_failed",
    "claude_desktop_config", "commit_delay",
    "distributed_ddl",
    "filters__groups__0__rollout", "includeRevenue", "includeScrollDepth",
    "invalid_personal_key", "malformed_data", "missing_api_key", "no_api_key",
    "old_parts_lifetime", "pg_dump",
    "properties__0__operator", "tiles__0__colour", "update_variants",
}  # fmt: skip


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=relative)


@cache
def words() -> frozenset[str]:
    """Return all identifiers that pages may name.

    They are those of the program and its settings, of benchmarks, of releases, of test helpers, and
    of the console with its build and tests.
    """
    tests = ROOT / "tests"
    folders = (SOURCE, ROOT / "bench", ROOT / "release", tests / "support", tests / "console")
    files = [
        *(file for folder in folders for file in folder.rglob("*.py")),
        ROOT / "pyproject.toml",
    ]
    files += [CONSOLE / "package.json", CONSOLE / "vite.config.ts", *CONSOLE.glob("*.py")]
    # Leave out the types that checks generate, which name everything of the API.
    files += [file for file in (CONSOLE / "src").rglob("*.ts*") if file.name != "schema.d.ts"]
    in_sources = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    return frozenset(in_sources | SETTINGS)


def quoted_texts(page: Path) -> set[str]:
    """Return the text between backticks, without blocks of code."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
    return set(re.findall(r"`([^`\n]+)`", text))


def quoted_paths(page: Path) -> set[str]:
    """Return quoted paths whose first part is a folder of the repository or of the package."""
    return {
        name
        for name in quoted_texts(page) - DATA_FOLDER
        if re.fullmatch(r"\.?\w+(/[\w.-]*)+", name) and name.partition("/")[0] in FOLDERS
    }


def quoted_identifiers(page: Path) -> set[str]:
    """Return quoted classes, constants and names with an underscore; of dotted names each part."""
    parts = {
        part
        for name in quoted_texts(page)
        if re.fullmatch(r"\w+(\.\w+)*(\(\))?", name)
        for part in name.removesuffix("()").split(".")
    }
    return {part for part in parts if re.search(r"[A-Z_]", part) and not part[0].isdigit()}


def is_file(name: str) -> bool:
    places = [root / name for root in (ROOT, SOURCE, CONSOLE / "src")]
    return any(place.exists() or place.with_name(f"{place.name}.py").is_file() for place in places)


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of headings."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_nowhere(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    file = page.parent / name if name else page
    return not file.exists() or bool(anchor and anchor not in anchors(file))


@every_page
def test_every_path_exists(page: Path) -> None:
    assert {name for name in quoted_paths(page) if not is_file(name)} == set()


@every_page
def test_every_module_exists(page: Path) -> None:
    named = {name for name in quoted_texts(page) if MODULE.fullmatch(name)}

    assert {name for name in named if not is_module(name)} - {"fanion.service"} == set()


@every_page
def test_every_identifier_exists(page: Path) -> None:
    named = {
        name if name in words() else name.removesuffix(TOTAL) for name in quoted_identifiers(page)
    }

    assert named - words() - FOREIGN == set()


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text())

    assert {target for target in targets if leads_nowhere(page, target)} == set()


def test_limits_of_the_page_on_security_are_settings_or_constants() -> None:
    names = {name for name in quoted_identifiers(ROOT / "docs" / "security.md") if name.isupper()}
    source = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    constants = set(re.findall(r"(?m)^([A-Z][A-Z0-9_]+)\b.* = ", source))

    assert len(names) > 10
    assert names <= constants | SETTINGS


def test_foreign_identifiers_are_named_by_a_page() -> None:
    named = {name for page in PAGES for name in quoted_identifiers(page)}

    assert named >= FOREIGN
    assert FOREIGN.isdisjoint(words())


def test_what_is_missing_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`wire/json` `fanion.wire.json` `JsonOfWire` [gone](other.md) `wire/offload.py`\n"
    )

    assert [is_file(name) for name in sorted(quoted_paths(page))] == [False, True]
    assert not is_module("fanion.wire.json") and is_module("fanion.wire.offload")
    assert "JsonOfWire" in quoted_identifiers(page) - words()
    assert leads_nowhere(page, "other.md") and leads_nowhere(page, "#none")
