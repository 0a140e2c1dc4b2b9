"""A store stays usable if a process is killed while it fills a property's column."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.support.column_filler import EVENTS, FILLING

pytestmark = pytest.mark.long("fills columns in processes of their own")

KILLS = 8
# About as long as it takes to fill the column.
WAIT_S_MAX = 0.3


def start(command: str, url: str) -> "subprocess.Popen[str]":
    program = [sys.executable, "-m", "tests.support.column_filler", command, url]
    return subprocess.Popen(program, stdout=subprocess.PIPE, text=True)


def run(command: str, url: str) -> str:
    with start(command, url) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == 0
    return printed


# Each kill is followed by a start of the engine, which takes a second.
def test_a_column_is_filled_after_its_process_was_killed_again_and_again(tmp_path: Path) -> None:
    url = f"chdb://{tmp_path}/events"
    run("add", url)
    chance = Random(20261129)
    killed = 0

    # The shortest first: once a process has filled the column, the others have nothing to do.
    for wait_s in sorted(chance.uniform(0, WAIT_S_MAX) for _ in range(KILLS)):
        with start("fill", url) as process:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == FILLING
            try:
                process.wait(wait_s)
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
    run("fill", url)

    assert killed > KILLS / 2
    assert run("count", url).split() == ["True", *map(str, (EVENTS, EVENTS, EVENTS, EVENTS // 3))]
