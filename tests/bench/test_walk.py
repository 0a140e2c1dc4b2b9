"""The counts of `python -m bench walk`: exact for a small program; for the server, that it runs."""

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import walk
from bench.walk_control import (
    Calls,
    Controller,
    Figures,
    Recording,
    by_file,
    controller,
    figures,
    typical,
)
from bench.walk_tracer import Entry

PROGRAM_S = 60.0

# Waits for a line before its work, and after it.
MAIN = """
    import asyncio
    import sys

    async def main():
        from sample import front

        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)  # what was imported may have started tasks
        print("ready", flush=True)
        await loop.run_in_executor(None, sys.stdin.readline)
        await front.answer()
        print("done", flush=True)
        await loop.run_in_executor(None, sys.stdin.readline)

    asyncio.run(main())
"""


@contextmanager
def traced_program(
    folder: Path, **files: str
) -> Iterator[tuple[Controller, "subprocess.Popen[str]"]]:
    """Start the program, which waits for its first line.

    Args:
        files: The files of the package `sample`.
    """
    package = folder / "sample"
    package.mkdir()
    for name, text in files.items():
        (package / f"{name}.py").write_text(textwrap.dedent(text))
    (folder / "main.py").write_text(textwrap.dedent(MAIN))
    with controller(package) as control:
        path = os.pathsep.join((control.environment["PYTHONPATH"], str(folder)))
        program = subprocess.Popen(
            [sys.executable, str(folder / "main.py")],
            env={**os.environ, **control.environment, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            yield control, program
        finally:
            program.communicate("\n\n", timeout=PROGRAM_S)


def calls_of(folder: Path, **files: str) -> Calls:
    return recorded_calls(folder, **files).until(float("inf"))


def recorded_calls(folder: Path, **files: str) -> Recording:
    """Return the calls of one answer."""
    with traced_program(folder, **files) as (control, program):
        assert program.stdin is not None
        assert program.stdout is not None
        recording = control.begin()
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "done\n"
        control.end(recording)
        return recording


def test_a_function_that_is_resumed_is_entered_once(tmp_path: Path) -> None:
    front = """
        import asyncio
        from sample import back

        async def answer():
            await asyncio.sleep(0)
            await back.wait()
            return sum(back.numbers())
    """
    back = """
        import asyncio

        async def wait():
            for _ in range(3):
                await asyncio.sleep(0)

        def numbers():
            yield from [double(number) for number in range(2)]

        def double(number):
            return 2 * number
    """

    assert calls_of(tmp_path, front=front, back=back) == {
        ("", "front.py:answer"): 1,
        ("front.py:answer", "back.py:wait"): 1,
        ("front.py:answer", "back.py:numbers"): 1,
        ("back.py:numbers", "back.py:double"): 2,
    }


def test_who_scheduled_a_call_is_its_caller(tmp_path: Path) -> None:
    front = """
        import asyncio
        from sample import back

        async def answer():
            loop = asyncio.get_running_loop()
            done = loop.create_future()
            loop.call_soon(back.called, done)
            await done
            await asyncio.create_task(back.task())
            await asyncio.to_thread(back.in_thread)
            await loop.run_in_executor(None, back.in_executor)
            sorted([2, 1], key=back.by_library)
    """
    back = """
        def called(done):
            done.set_result(None)

        async def task():
            pass

        def in_thread():
            pass

        def in_executor():
            pass

        def by_library(number):
            return number
    """

    assert calls_of(tmp_path, front=front, back=back) == {
        ("", "front.py:answer"): 1,
        ("front.py:answer", "back.py:called"): 1,
        ("front.py:answer", "back.py:task"): 1,
        ("front.py:answer", "back.py:in_thread"): 1,
        ("front.py:answer", "back.py:in_executor"): 1,
        ("front.py:answer", "back.py:by_library"): 2,
    }


def test_processes_that_are_started_are_traced_too(tmp_path: Path) -> None:
    front = """
        import subprocess, sys

        CODE = "from sample.back import work; print(flush=True); input(); work(); print(); input()"

        def start():
            global child
            child = subprocess.Popen(
                [sys.executable, "-c", CODE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            child.stdout.readline()

        async def answer():
            child.stdin.write("\\n")
            child.stdin.flush()
            child.stdout.readline()

        start()
    """
    back = "def work():\n    pass\n"

    calls = calls_of(tmp_path, front=front, back=back)

    assert calls == {("", "front.py:answer"): 1, ("", "back.py:work"): 1}


def test_an_activity_includes_what_it_starts(tmp_path: Path) -> None:
    front = """
        import asyncio

        async def answer():
            wake.set()
            await stopped.wait()
            other()

        async def follow():
            await wake.wait()
            await asyncio.create_task(work())
            stopped.set()

        async def work():
            await asyncio.to_thread(in_thread)

        def in_thread():
            pass

        def other():
            pass

        wake, stopped = asyncio.Event(), asyncio.Event()
        following = asyncio.get_running_loop().create_task(follow())
    """

    entries = recorded_calls(tmp_path, front=front).entries

    activities = {name: activity for _, activity, _, name in entries}
    assert activities.keys() == {
        f"front.py:{name}" for name in ("answer", "work", "in_thread", "other")
    }
    assert activities["front.py:work"] == activities["front.py:in_thread"] != ""
    assert (
        activities["front.py:other"] == activities["front.py:answer"] != activities["front.py:work"]
    )


def test_figures_count_crossings_between_files_alone() -> None:
    calls = {
        ("", "a.py:first"): 1,
        ("a.py:first", "a.py:second"): 3,
        ("a.py:second", "b.py:third"): 2,
        ("b.py:third", "a.py:second"): 1,
    }

    assert figures(calls) == Figures(files=2, functions=3, calls=7, crossings=3)
    assert list(by_file(calls)) == [("a.py", 5, 1), ("b.py", 2, 2)]


def test_what_happened_by_chance_is_left_out() -> None:
    request, tick = ("a.py:first", "b.py:second"), ("a.py:loop", "a.py:look")

    assert typical([{request: 2, tick: 1.0}, {request: 2}, {tick: -0.4, request: 2.1}]) == {
        request: 2
    }


@contextmanager
def unconnected() -> Iterator[Controller]:
    with socket.socket(socket.AF_UNIX) as listener:
        yield Controller(listener, {})


def test_ticking_is_taken_away_at_its_rate() -> None:
    entries: list[Entry] = [
        (10.0, "1", "", "a.py:answer"),
        (10.5, "2", "a.py:loop", "a.py:look"),
        (11.0, "1", "a.py:answer", "a.py:end"),
        (11.5, "2", "a.py:loop", "a.py:look"),
    ]
    with unconnected() as control:
        control.idle = {("a.py:loop", "a.py:look"): 1.0}
        measured = control.request(Recording(10.0, entries))

    assert measured == {
        ("", "a.py:answer"): 1,
        ("a.py:loop", "a.py:look"): 0,
        ("a.py:answer", "a.py:end"): 1,
    }


def test_of_a_loop_only_the_busy_turn_counts() -> None:
    entries: list[Entry] = [
        (1.0, "1", "a.py:loop", "a.py:look"),
        (2.0, "2", "c.py:other", "c.py:something"),
        (3.0, "1", "a.py:loop", "a.py:work"),
        (4.0, "1", "a.py:work", "b.py:work"),
        (5.0, "1", "a.py:loop", "a.py:look"),
    ]
    with unconnected() as control:
        control.idle = {("a.py:loop", "a.py:look"): 1.0}
        activity = control.activity(Recording(0.0, entries))

    assert activity == {
        ("a.py:loop", "a.py:look"): 1,
        ("a.py:loop", "a.py:work"): 1,
        ("a.py:work", "b.py:work"): 1,
    }


@pytest.mark.long("starts a real server and traces it")
def test_the_walk_of_flags_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(walk, "IDLE_S", 1.5)
    monkeypatch.setattr(walk, "SAMPLES", 3)

    walk.main(["files", "flags"])

    printed = capsys.readouterr().out
    row = next(
        line for line in printed.splitlines()[::-1] if line.startswith(walk.PATHS["flags"][0])
    )
    files, functions, calls, crossings = (int(cell) for cell in row.split()[-4:])
    assert 5 < files < functions <= calls
    assert files - 1 <= crossings < calls


def test_a_path_that_is_not_known_is_refused() -> None:
    with pytest.raises(SystemExit, match="flagz"):
        walk.main(["flagz"])
