"""The program buildah, which keeps its images in a folder of the test."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from release.image import has_builder

BUILD_S = 300


def buildah(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return what runs buildah and returns its output, or skip the test without it."""
    if not has_builder():
        pytest.skip("no buildah found: install the package `buildah`")
    storage = folder / "storage.conf"
    storage.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'
    )
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(storage))
    monkeypatch.setenv("BUILDAH_ISOLATION", "chroot")

    def run(*arguments: str) -> str:
        done = subprocess.run(
            ["buildah", *arguments], capture_output=True, text=True, timeout=BUILD_S, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
