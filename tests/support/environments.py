"""Environments for a wheel, with packages that are linked from this environment."""

import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import distribution
from pathlib import Path


def make_environment(folder: Path, packages: Iterable[str]) -> Path:
    """Make an environment without pip that has some packages, and return its folder."""
    environment = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    [site] = (environment / "lib").glob("python3*/site-packages")
    for name in packages:
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return environment


def build_wheel(source: Path, folder: Path) -> Path:
    """Build the wheel of a checkout, without the console."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    before = set(folder.glob("*.whl"))
    subprocess.run(command, cwd=source, env={"FANION_CONSOLE": "off"}, check=True)
    [wheel] = set(folder.glob("*.whl")) - before
    return wheel


def run_pip(environment: Path, *arguments: str, **settings: str) -> None:
    """Run pip of this environment for another one, without an index or requirements.

    Args:
        settings: Variables of pip.
    """
    options: Mapping[str, str] = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_QUIET": "1"}
    command = [sys.executable, "-m", "pip", "--python", str(environment), *arguments]
    subprocess.run(command, env={**options, **settings}, check=True)
