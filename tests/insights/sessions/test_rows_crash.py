"""Rows of sessions are right after processes that wrote them were killed."""

import random
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

pytestmark = pytest.mark.long("kills processes")

KILLS = 6
MODULE = "tests.insights.sessions.rows_process"


def test_rows_are_right_after_kills(tmp_path: Path) -> None:
    draw = random.Random(7)
    for seed in range(KILLS):
        arguments = [sys.executable, "-m", MODULE, "store", str(tmp_path / "events"), str(seed)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(draw.randrange(2, 12)):
                assert process.stdout.readline() == "stored\n"
            sleep(draw.random() / 10)  # anywhere between two statements
            process.kill()

    arguments = [sys.executable, "-m", MODULE, "check", str(tmp_path / "events")]
    answer = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True)

    sessions, wrong = map(int, answer.stdout.split())
    assert (sessions > 60, wrong) == (True, 0)
