"""Packages of others that a release ships, and their licences."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path
from typing import Final, cast

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.markers import Marker
from packaging.utils import canonicalize_name

LOCKS: Final = tuple(f"deploy/requirements{part}.lock" for part in ("", "-embedded", "-extras"))
# Its scripts and styles are part of the documentation.
THEME: Final = "mkdocs-material"
# Permissive, or, as MPL-2.0, with duties for changed files of the library itself, and none is
# changed. What is not listed needs a look at its text, and a decision.
ALLOWED: Final = frozenset(
    (
        "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0",
        "MPL-2.0", "PSF-2.0", "Unlicense", "Zlib",
    )
)  # fmt: skip
# The names that packages give licences which have no expression. Those of BSD have three clauses.
_NAMES: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_LOCKED: Final = re.compile(r"(?m)^([\w.-]+)==([^;\s]+)(?: ; ([^\\]+?))? \\$")
_BUNDLED: Final = re.compile(r"(?m)^## (\S+) - (\S+) \((.+)\)$")


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """A package of others.

    Attributes:
        kind: The registry: `npm`, for what is bundled in the console and in the scripts of
            posthog-js, or `pypi`, for what is installed beside Fanion.
        licence: An expression in SPDX identifiers, or "" if the package states none.
    """

    kind: str
    name: str
    version: str
    licence: str

    @property
    def is_allowed(self) -> bool:
        """Return whether one of the licences to choose from has only parts that are allowed.

        It is False for an expression of nested alternatives, which a person has to read.
        """
        whole = re.fullmatch(r"\(?([^()]*)\)?", self.licence)
        choices = whole[1].split(" OR ") if whole else ()
        return any(ALLOWED.issuperset(choice.split(" AND ")) for choice in choices)


def shipped_packages(root: Path) -> list[Package]:
    """Return packages that the lock files install here, of the console and of the documentation."""
    theme = _package(THEME, distribution(THEME).version)
    return sorted({*_python_packages(root), *_console_packages(root), theme})


def licences_page(version: str, packages: Sequence[Package]) -> str:
    """Return a page that lists the licence of each package."""
    rows = "".join(f"| {p.kind} | {p.name} | {p.version} | {p.licence} |\n" for p in packages)
    return (
        f"# Licences of what Fanion {version} ships\n\n"
        "Fanion itself: MIT. Packages of `npm` are in the console, whose texts of licences are in "
        "`fanion/console/static/` of the package, and the theme mkdocs-material is in the "
        "documentation, with its licence in `fanion/console/docs/`. The other packages of `pypi` "
        "are dependencies of Fanion, installed with their own licence files.\n\n"
        f"| Registry | Package | Version | Licence |\n|---|---|---|---|\n{rows}"
    )


def stated_licence(metadata: Message) -> str:
    """Return the licence that a package of PyPI states, as an SPDX expression, or ""."""
    title = (metadata.get("License") or "").strip().partition("\n")[0].strip()
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in metadata.get_all("Classifier") or []
        if text.startswith("License :: ")
    ]
    of_classifiers = " OR ".join(_NAMES.get(text, text) for text in classifiers)
    for stated in (metadata.get("License-Expression"), _NAMES.get(title, title), of_classifiers):
        try:
            if stated:
                return str(canonicalize_license_expression(stated))
        except InvalidLicenseExpression:
            continue
    return ""


def _python_packages(root: Path) -> Iterator[Package]:
    for lock in LOCKS:
        for name, version, marker in _LOCKED.findall((root / lock).read_text()):
            if not marker or Marker(marker).evaluate():
                yield _package(name, version)


def _package(name: str, version: str) -> Package:
    metadata = cast(Message, distribution(name).metadata)
    return Package("pypi", canonicalize_name(name), version, stated_licence(metadata))


def _console_packages(root: Path) -> Iterator[Package]:
    """Yield what the build says it has bundled, and posthog-js with all that it bundles itself."""
    bundled = (root / "src/fanion/console/static/LICENSES.md").read_text()
    for name, version, licence in _BUNDLED.findall(bundled):
        yield Package("npm", name, version, licence)
    locked = json.loads((root / "console/package-lock.json").read_text())["packages"]
    for name in _with_dependencies("posthog-js", locked):
        found = locked[f"node_modules/{name}"]
        yield Package("npm", name, found["version"], found.get("license", ""))


def _with_dependencies(
    name: str, locked: Mapping[str, Mapping[str, Mapping[str, str]]]
) -> set[str]:
    names: set[str] = set()
    waiting = {name}
    while waiting:
        names.add(found := waiting.pop())
        waiting |= locked[f"node_modules/{found}"].get("dependencies", {}).keys() - names
    return names
