"""Backups to a disk that fills, and restores onto one that is too small."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fanion.cli.output import REFUSED
from tests.support.server import RealServer

MEBIBYTE = 1024**2
DISK_BYTES = 24 * MEBIBYTE
PART = "events/store/abc/abcdef/202601_1_1_0"


@dataclass(frozen=True)
class SmallDisk:
    """A disk of DISK_BYTES that only processes in its namespace see.

    Attributes:
        folder: Where they see it.
        holder: The process that keeps the namespace.
    """

    folder: Path
    holder: int

    def fanion(self, server: RealServer, *arguments: str) -> subprocess.CompletedProcess[str]:
        inside = ["nsenter", f"--target={self.holder}", "--user", "--mount"]
        return subprocess.run(
            [*inside, "--preserve-credentials", *server.program, *arguments],
            env=server.environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def json(self, server: RealServer, *arguments: str) -> Any:
        done = self.fanion(server, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = f'mount -t tmpfs -o size={DISK_BYTES} none "$0" && echo mounted && exec cat'
    unshared = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, str(folder)]
    if shutil.which(unshared[0]) is None:
        pytest.skip("unshare is not installed")
    with subprocess.Popen(
        unshared, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as holder:
        assert holder.stdout is not None
        if (said := holder.stdout.readline()) != "mounted\n":
            pytest.skip(f"no disk can be mounted here: {said}")
        yield SmallDisk(folder, holder.pid)
        holder.kill()


@pytest.fixture
def server(tmp_path: Path) -> RealServer:
    server = RealServer(tmp_path / "data")
    server.setup()
    return server


def add_part(server: RealServer, content: bytes) -> None:
    folder = server.data / PART
    folder.mkdir(parents=True)
    (folder / "data.bin").write_bytes(content)
    (folder / "checksums.txt").write_bytes(b"hash")


def ids(backups: Sequence[Any]) -> list[str]:
    return [backup["backup"] for backup in backups]


def test_a_backup_to_a_full_disk_fails_and_leaves_the_older_one(
    server: RealServer, disk: SmallDisk
) -> None:
    backups = str(disk.folder / "backups")
    first = disk.json(server, "backup", "--to", backups)
    add_part(server, os.urandom(DISK_BYTES))

    refused = disk.fanion(server, "backup", "--to", backups)

    assert refused.returncode == REFUSED
    [line] = refused.stderr.splitlines()
    assert f"{backups}: no space is left on its disk" in line
    assert (
        "no space is left" in json.loads((server.data / "backup-state.json").read_text())["error"]
    )
    assert ids(disk.json(server, "backups", "--from", backups)) == [first["backup"]]
    assert disk.json(server, "restore", "--from", backups, "--check")["damaged_files"] == 0

    shutil.rmtree(server.data / "events")
    second = disk.json(server, "backup", "--to", backups)

    assert ids(disk.json(server, "backups", "--from", backups)) == [
        first["backup"],
        second["backup"],
    ]


def test_a_restore_onto_a_small_disk_is_refused_before_it_writes(
    server: RealServer, disk: SmallDisk, tmp_path: Path
) -> None:
    add_part(server, os.urandom(DISK_BYTES))
    backups, data = str(tmp_path / "backups"), str(disk.folder / "data")
    disk.json(server, "backup", "--to", backups)

    refused = disk.fanion(server, "restore", "--from", backups, "--data", data)

    assert refused.returncode == REFUSED
    [line] = refused.stderr.splitlines()
    assert f"{data} has 2" in line
    assert "MiB free on its disk" in line
    shown = disk.fanion(server, "restore", "--from", backups, "--data", data).stderr
    assert shown.splitlines() == [line]
