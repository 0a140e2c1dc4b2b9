"""The metrics of a server's processes and of its build."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from fanion import __version__
from fanion.observability.build_info import COMMIT_FILE, read_commit
from fanion.observability.server_collector import ServerCollector, read_usage
from tests.support.awaited import until

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=-1)
sys.stdin.read()
child.stdin.close()
child.wait()
"""


def test_children_of_a_process_count_with_it() -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as parent:
        until(lambda: read_usage(parent.pid).processes == 2, "the child does not start")
        both = read_usage(parent.pid)
        parent.communicate()

    assert both.resident_bytes > 4 * 2**20
    assert both.virtual_bytes > both.resident_bytes
    assert both.open_files >= 3


def test_processor_time_of_a_child_stays_when_it_has_ended() -> None:
    before = read_usage(os.getpid()).cpu_s
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)

    assert read_usage(os.getpid()).cpu_s > before + 0.1


def test_a_process_that_has_ended_uses_nothing() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()

    assert read_usage(done.pid).processes == 0


def test_the_start_the_build_and_the_limits_are_reported() -> None:
    registry = CollectorRegistry()
    collector = ServerCollector(registry, COMMIT)
    collector.measure()

    started = registry.get_sample_value("process_start_time_seconds")
    [build] = [family for family in registry.collect() if family.name == "fanion_build_info"]
    labels = build.samples[0].labels

    assert started is not None and 0 < time.time() - started < 86_400
    assert (labels["version"], labels["commit"]) == (__version__, COMMIT)
    opened = registry.get_sample_value("process_open_fds")
    assert opened is not None and 3 <= opened < (registry.get_sample_value("process_max_fds") or 0)


def make_checkout(root: Path, head: str, **files: str) -> Path:
    """Return the package's folder in a checkout with these files of git."""
    for name, text in {"HEAD": head, **files}.items():
        path = root / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    package = root / "src" / "fanion"
    package.mkdir(parents=True)
    return package


@pytest.mark.parametrize(
    ("head", "files"),
    [
        (f"{COMMIT}\n", {}),
        ("ref: refs/heads/main\n", {"refs/heads/main": f"{COMMIT}\n"}),
        (
            "ref: refs/heads/main\n",
            {"packed-refs": f"# pack-refs\n{'f' * 40} refs/heads/x\n{COMMIT} refs/heads/main\n"},
        ),
    ],
)
def test_the_commit_of_a_checkout_is_read(head: str, files: dict[str, str], tmp_path: Path) -> None:
    assert read_commit(make_checkout(tmp_path, head, **files)) == COMMIT


def test_the_commit_of_a_worktree_is_read(tmp_path: Path) -> None:
    make_checkout(tmp_path / "main", "ref: refs/heads/main\n")
    own = tmp_path / "main" / ".git" / "worktrees" / "other"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/other\n")
    (own / "commondir").write_text("../..\n")
    refs = tmp_path / "main" / ".git" / "refs" / "heads"
    refs.mkdir(parents=True)
    (refs / "other").write_text(f"{COMMIT}\n")
    package = tmp_path / "other" / "src" / "fanion"
    package.mkdir(parents=True)
    (tmp_path / "other" / ".git").write_text(f"gitdir: {own}\n")

    assert read_commit(package) == COMMIT


def test_the_commit_of_a_package_is_the_one_it_was_built_from(tmp_path: Path) -> None:
    package = make_checkout(tmp_path, f"{'f' * 40}\n")
    (package / COMMIT_FILE).write_text(f"{COMMIT}\n")

    assert read_commit(package) == COMMIT


def test_without_a_repository_the_commit_is_not_known(tmp_path: Path) -> None:
    assert read_commit(tmp_path / "src" / "fanion") == ""
