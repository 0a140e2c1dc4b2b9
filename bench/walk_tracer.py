"""Records calls of product functions, inside each process that is traced.

A Python process that is started with `hooked` in its environment loads this file by itself, its
children too, and connects to the controller (bench/walk_control.py), which says when to record.
Nothing here imports the product or the benchmarks.

What is recorded is an *entry*: a function of the product begins to run. A generator or a coroutine
that is resumed does not begin again, and a comprehension is a part of the function around it. The
caller of an entry is the nearest product function below it on the stack, library frames passed
over. Where the stack begins at an event loop or a thread, the caller is the product function that
scheduled what runs: a context variable holds the product function that runs, an event loop copies
the context when a callback or a task is scheduled, and executors are made to pass it on.

Each entry records its *activity* too: the task that existed before recording began and that led
to it, by way of tasks, callbacks and threads. This distinguishes the work of one loop from others'.
"""

import dis
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from inspect import CO_COROUTINE
from itertools import count
from time import monotonic
from types import CodeType, FrameType
from typing import Any

SOCKET, ROOT = "WALK_SOCKET", "WALK_ROOT"
# Below these frames is no caller: what they run was scheduled before.
LOOPS = (
    "/asyncio/base_events.py",
    "/asyncio/events.py",
    "/asyncio/runners.py",
    "/concurrent/futures/thread.py",
    "/threading.py",
)
COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})

# When, in seconds of a clock that all processes share; the activity; who called, and what was
# entered, both as `file:function`, and "" for no caller.
Entry = tuple[float, str, str, str]


class Recorder:
    """root: the folder whose files count"""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/") + "/"
        self._entries: list[Entry] = []
        self._is_recording = False
        self._running: ContextVar[str] = ContextVar("running", default="")
        self._activity: ContextVar[str] = ContextVar("activity", default="")
        self._activities = count()
        # For each code object once.
        self._name = cache(self._name_of)
        self._is_loop = cache(lambda code: code.co_filename.endswith(LOOPS))
        self._resume = cache(resume_offset)

    def install(self) -> None:
        """In this thread, and in those that are started from now on."""
        self._pass_on_callers()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def begin(self) -> None:
        self._entries = []
        self._is_recording = True

    def end(self) -> None:
        self._is_recording = False

    def take(self) -> list[Entry]:
        """What was recorded since the last call."""
        taken, self._entries = self._entries, []
        return taken

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if not self._is_recording:
            if event == "call" and frame.f_code.co_flags & CO_COROUTINE:
                self._note_activity(frame)
            return
        if event not in ("call", "return"):
            return
        code = frame.f_code
        name = self._name(code)
        if not name:
            return
        caller = self._caller(frame)
        if event == "return":
            self._running.set(caller)
            return
        if frame.f_lasti <= self._resume(code):
            entry = monotonic(), self._activity.get(), caller or self._running.get(), name
            self._entries.append(entry)
        self._running.set(name)

    def _note_activity(self, frame: FrameType) -> None:
        """A task begins when its coroutine is entered from the event loop."""
        below = frame.f_back
        if below is None or self._is_loop(below.f_code):
            code = frame.f_code
            if self._name(code) and frame.f_lasti <= self._resume(code):
                self._activity.set(f"{os.getpid()}-{next(self._activities)}")

    def _caller(self, frame: FrameType) -> str:
        """On this stack."""
        below = frame.f_back
        while below is not None and not self._is_loop(below.f_code):
            if name := self._name(below.f_code):
                return name
            below = below.f_back
        return ""

    def _name_of(self, code: CodeType) -> str:
        """Empty for what does not count."""
        if not code.co_filename.startswith(self._root) or code.co_name in COMPREHENSIONS:
            return ""
        return f"{code.co_filename.removeprefix(self._root)}:{code.co_qualname}"

    def _pass_on_callers(self) -> None:
        """To the threads of executors, whose context is not that of the submitter."""
        submit = ThreadPoolExecutor.submit

        def passing_on(
            executor: ThreadPoolExecutor, work: Callable[..., Any], /, *given: Any, **named: Any
        ) -> Future[Any]:
            caller, activity = self._running.get(), self._activity.get()

            def run() -> Any:
                self._running.set(caller)
                self._activity.set(activity)
                return work(*given, **named)

            return submit(executor, run)

        ThreadPoolExecutor.submit = passing_on  # type: ignore[method-assign, assignment]


def resume_offset(code: CodeType) -> int:
    """Where the body begins. A frame that was suspended has come further."""
    return next((one.offset for one in dis.get_instructions(code) if one.opname == "RESUME"), -1)


def obey(recorder: Recorder, line: socket.socket) -> None:
    """The controller's commands, a line each, until it hangs up."""
    commands = {"begin": recorder.begin, "end": recorder.end}
    with line, line.makefile("rw") as stream:
        stream.write(json.dumps([os.getpid(), sys.orig_argv]) + "\n")
        stream.flush()
        for command in stream:
            if (act := commands.get(command.strip())) is not None:
                act()
            stream.write(json.dumps(recorder.take()) + "\n")
            stream.flush()


def start() -> None:
    """In a process that was started with the hook."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(os.environ[SOCKET])
    recorder = Recorder(os.environ[ROOT])
    threading.Thread(target=obey, args=(recorder, line), daemon=True).start()
    recorder.install()
