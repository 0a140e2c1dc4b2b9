"""The image of a release: the same bytes from the same files, for any container engine.

The Dockerfile is one without a base, which would have to be loaded from a registry of images.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from release.checks import Refused
from release.image import build_image
from release.packages import Commit
from tests.support.buildah import buildah

pytestmark = pytest.mark.long("builds images, which needs buildah")

COMMIT = Commit("0" * 40, datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a Dockerfile, and let buildah keep its files beside it."""
    buildah(tmp_path, monkeypatch)
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_text("content")
    (source / "Dockerfile").write_text(
        'FROM scratch\nARG ENGINE\nCOPY file /\nHEALTHCHECK CMD ["check"]\nCMD ["serve"]\n'
    )
    return source


def test_an_image_is_the_same_bytes_each_time(source: Path, tmp_path: Path) -> None:
    built = []
    for number, mtime in enumerate((1_000_000_000, 1_700_000_000)):
        os.utime(source / "file", (mtime, mtime))
        (work := tmp_path / str(number)).mkdir()
        build_image(source, "1.10.0", COMMIT, work, work, "Dockerfile")
        built.append((work / "fanion-1.10.0-image.tar").read_bytes())

    assert built[0] == built[1]


def test_an_image_is_loaded_with_its_health_check(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_image(source, "1.10.0", COMMIT, tmp_path, tmp_path, "Dockerfile")
    (other := tmp_path / "other").mkdir()
    run = buildah(other, monkeypatch)

    run("pull", f"docker-archive:{tmp_path / 'fanion-1.10.0-image.tar'}")

    config = json.loads(run("inspect", "--type", "image", "fanion:1.10.0"))["Docker"]["config"]
    assert config["Healthcheck"]["Test"] == ["CMD", "check"]
    assert config["Cmd"] == ["serve"]


def test_a_build_that_fails_is_refused(source: Path, tmp_path: Path) -> None:
    (source / "Dockerfile").write_text("FROM scratch\nCOPY missing /\n")

    with pytest.raises(Refused, match="buildah build failed"):
        build_image(source, "1.10.0", COMMIT, tmp_path, tmp_path, "Dockerfile")
