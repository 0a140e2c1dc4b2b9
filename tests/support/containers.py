"""The programs podman and podman-compose, which keep images and volumes in a folder of the test."""

import os
import resource
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

BUILD_S = 1500
COMMAND_S = 300
BASE = "docker.io/library/python:3.11-slim"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Below what any machine allows: a container may not have more than the engine that starts it.
_FILES_MAX, _PROCESSES_MAX = 4096, 4096
_PATH = "PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Containers:
    """A container engine."""

    folder: Path

    def run(self, *command: str | Path, timeout_s: float = COMMAND_S, **variables: str) -> str:
        done = subprocess.run(
            [str(word) for word in command], env={**self._environment, **variables},
            capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def build(self, source: Path, tag: str) -> None:
        """Build the image with the engine from a checkout, without the console."""
        self.run(
            *("podman", "build", "--format", "docker", "--tag", tag, "--isolation", "chroot"),
            "--layers=false",  # each would be a copy of a gigabyte
            *("--secret", f"id=ca,src={CERTIFICATES}", "--build-arg", "ENGINE=embedded"),
            *("--build-arg", "FANION_CONSOLE=off", "--file", source / "deploy/Dockerfile", source),
            timeout_s=BUILD_S,
        )

    def derive(self, tag: str, base: str, source: Path) -> None:
        """Make an image that runs the program of another folder of sources."""
        lines = (f"FROM {base}", "COPY . /opt/other", "ENV PYTHONPATH=/opt/other")
        (file := self.folder / "Dockerfile").write_text("\n".join(lines) + "\n")
        self.run(
            *("podman", "build", "--format", "docker", "--isolation", "chroot", "--tag", tag),
            *("--file", file, source),
            timeout_s=BUILD_S,
        )

    def require_base(self) -> None:
        """Load the image's base from its registry, or make one of the same kind from Debian.

        The test is skipped where neither can be reached.
        """
        if self.has_image(BASE) or self._is_pulled():
            return
        if shutil.which("mmdebstrap") is None:
            pytest.skip("no registry of images is reached, and there is no mmdebstrap")
        root = self.folder / "base"
        packages = "--include=python3,python3-venv,ca-certificates"
        self.run(
            *("mmdebstrap", "--quiet", "--variant=minbase", packages, "bookworm", root),
            timeout_s=BUILD_S,
        )
        self.run("chroot", root, "python3", "-m", "venv", "/usr/local")
        self.run("tar", "-C", root, "-cf", self.folder / "base.tar", ".")
        self.run("podman", "import", "--change", f"ENV {_PATH}", self.folder / "base.tar", BASE)
        shutil.rmtree(root)

    def has_image(self, tag: str) -> bool:
        command = ["podman", "image", "exists", tag]
        return subprocess.run(command, env=self._environment, check=False).returncode == 0

    def _is_pulled(self) -> bool:
        pulled = subprocess.run(
            ["podman", "pull", "--quiet", BASE], env=self._environment, capture_output=True,
            timeout=BUILD_S, check=False,
        )  # fmt: skip
        return pulled.returncode == 0

    @cached_property
    def _environment(self) -> Mapping[str, str]:
        storage, engine = self.folder / "storage.conf", self.folder / "containers.conf"
        storage.write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{self.folder}/graph"\n'
            f'runroot = "{self.folder}/run"\n'
        )
        # Where both versions of control groups are mounted only runc starts a container.
        runtime = 'runtime = "runc"\n' if shutil.which("runc") else ""
        engine.write_text(
            f'[engine]\n{runtime}cgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
            f"[containers]\ndefault_ulimits = {_ulimits_list()}\n"
        )
        places = {"CONTAINERS_STORAGE_CONF": str(storage), "CONTAINERS_CONF": str(engine)}
        return {**os.environ, **places}


def ulimits() -> Mapping[str, int]:
    """Return limits that the engine may give to a container."""
    files, processes = (
        resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
    )
    return {
        "nofile": _FILES_MAX if files < 0 else min(files, _FILES_MAX),
        "nproc": _PROCESSES_MAX if processes < 0 else min(processes, _PROCESSES_MAX),
    }


def _ulimits_list() -> Sequence[str]:
    return str([f"{name}={number}:{number}" for name, number in ulimits().items()]).replace(
        "'", '"'
    )


def require_engine() -> None:
    for name in ("podman", "podman-compose"):
        if shutil.which(name) is None:
            pytest.skip(f"no {name} found: install the package `{name}`")
