"""Programs in compiled languages that use clients of PostHog and OpenFeature.

Each is compiled once, and again when its source has changed; that in Rust by `make`.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.generated.client import SHORT_JVM, TOOLS, run

HERE = Path(__file__).parent
COMPILED = TOOLS.parent / "compiled"


def go_program(name: str) -> list[str]:
    """Return the command of a program in the folder `go`."""
    _require_tool("go", "golang-go")
    _require_packages(TOOLS / "go")
    program, module = COMPILED / "go" / name, HERE / "go"
    if _is_older(program, [module / "go.sum", *(module / name).iterdir()]):
        offline = {"GOPROXY": "off", "GOTOOLCHAIN": "local"}
        run(["go", "build", "-o", str(program), f"./{name}"], module, offline)
    return [str(program)]


def java_program(name: str) -> list[str]:
    """Return the command of a program in the folder `java`."""
    _require_tool("javac", "default-jdk-headless")
    jars, source = COMPILED / "java", HERE / "java" / f"{name}.java"
    _require_packages(jars)
    path = os.pathsep.join((str(jars / "classes"), f"{jars}/*"))
    if _is_older(jars / "classes" / f"{name}.class", [source, jars / ".installed"]):
        jvm = [f"-J{option}" for option in SHORT_JVM]
        run(["javac", *jvm, "-d", str(jars / "classes"), "-cp", path, str(source)], HERE)
    return ["java", *SHORT_JVM, "-cp", path, name]


def rust_program() -> list[str]:
    """Return the command of the program with PostHog's client for Rust, which `make` compiles."""
    _require_packages(COMPILED / "rust")
    return [str(COMPILED / "rust" / "posthog_program")]


def _require_tool(name: str, package: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"no {name} found: install the package `{package}`")


def _require_packages(folder: Path) -> None:
    if not (folder / ".installed").exists():
        pytest.skip(f"{folder} is missing: `make test-all` fills it")


def _is_older(program: Path, sources: Sequence[Path]) -> bool:
    newest = max(source.stat().st_mtime for source in sources)
    return not program.exists() or program.stat().st_mtime < newest
