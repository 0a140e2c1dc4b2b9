"""The reader of the built files, used once at the start of the server."""

import json
from pathlib import Path

import structlog
from msgspec import structs

from fanion.console.build import CODINGS, NOT_BUILT, Build, File, file_of

FAILED = "{} The log of the server says where the details are."
STATIC = Path(__file__).parent / "static"


def read_build(folder: Path = STATIC) -> Build:
    """Return the built console, or a build that says why there is none.

    If building the current sources failed, the build of former sources is served.
    """
    failure = _build_failure(folder)
    try:
        build = _read_build_folder(folder)
    except (OSError, ValueError, KeyError) as error:
        if not isinstance(error, FileNotFoundError):
            structlog.get_logger().error("console_not_read", reason=str(error))
        build = structs.replace(NOT_BUILT, missing=FAILED.format(failure)) if failure else NOT_BUILT
    if failure:
        reason = folder.with_suffix(".failed")
        structlog.get_logger().warning("console_not_built", reason=failure, details=str(reason))
    return build


def _read_build_folder(folder: Path) -> Build:
    """Read the build.

    Raises:
        OSError: A file cannot be read.
        ValueError: `build.json` is not JSON.
        KeyError: `build.json` lacks a field.
    """
    known = json.loads((folder / "build.json").read_text())
    return Build(
        index=(folder / "index.html").read_text(),
        assets=_build_files(folder / "assets"),
        sdk=_build_files(folder / "sdk"),
        sdk_version=known["posthog_js"],
        missing="",
    )


def _build_files(folder: Path) -> dict[str, File]:
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    compressed = tuple(suffix for suffix in CODINGS.values() if suffix)
    return {
        name: file_of(
            name,
            {
                coding: contents[name + suffix]
                for coding, suffix in CODINGS.items()
                if name + suffix in contents
            },
        )
        for name in contents
        if not name.endswith(compressed)
    }


def _build_failure(folder: Path) -> str:
    """Return the first line of the last build's error, or "" if the build did not fail."""
    try:
        return folder.with_suffix(".failed").read_text().partition("\n")[0]
    except OSError:
        return ""
