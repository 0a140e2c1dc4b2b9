"""The recorder of calls of product functions, inside each traced process.

A Python process whose environment has the hook loads this file by itself, and so do its children.
It connects to the controller (bench/walk_control.py), which says when to record. Nothing here
imports the product or the benchmarks.

An *entry* is recorded when a function of the product begins to run. A generator or a coroutine
that is resumed does not begin again, and a comprehension is a part of the function around it. The
caller of an entry is the nearest product function below it on the stack, regardless of library
frames. Where the stack begins at an event loop or a thread, the caller is the product function
that scheduled the work: a context variable holds the running product function, an event loop
copies the context when a callback or a task is scheduled, and executors are made to pass it on.

Each entry also records its *activity*: the task that existed before recording began and that led
to it, through tasks, callbacks and threads. This distinguishes the work of one loop from that of
others.
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
# No caller is looked for below these frames: what they run was scheduled before.
LOOPS = (
    "/asyncio/base_events.py",
    "/asyncio/events.py",
    "/asyncio/runners.py",
    "/concurrent/futures/thread.py",
    "/threading.py",
)
COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})

# The time in seconds of a clock that all processes share; the activity; the caller, and the
# function entered, both as `file:function`, with "" for no caller.
Entry = tuple[float, str, str, str]


class Recorder:
    """The recorder of one process.

    Args:
        root: The folder whose files count.
    """

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/") + "/"
        self._entries: list[Entry] = []
        self._is_recording = False
        self._running: ContextVar[str] = ContextVar("running", default="")
        self._activity: ContextVar[str] = ContextVar("activity", default="")
        self._activities = count()
        # These are computed once for each code object.
        self._name = cache(self._name_of)
        self._is_loop = cache(lambda code: code.co_filename.endswith(LOOPS))
        self._resume = cache(resume_offset)

    def install(self) -> None:
        """Trace this thread, and those that are started from now on."""
        self._pass_on_callers()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def begin(self) -> None:
        self._entries = []
        self._is_recording = True

    def end(self) -> None:
        self._is_recording = False

    def take(self) -> list[Entry]:
        """Return the entries recorded since the last call."""
        entries, self._entries = self._entries, []
        return entries

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
        """Note the start of a task: its coroutine is entered from the event loop."""
        below = frame.f_back
        if below is None or self._is_loop(below.f_code):
            code = frame.f_code
            if self._name(code) and frame.f_lasti <= self._resume(code):
                self._activity.set(f"{os.getpid()}-{next(self._activities)}")

    def _caller(self, frame: FrameType) -> str:
        """Return the caller on this stack, or ""."""
        below = frame.f_back
        while below is not None and not self._is_loop(below.f_code):
            if name := self._name(below.f_code):
                return name
            below = below.f_back
        return ""

    def _name_of(self, code: CodeType) -> str:
        """Return `file:function`, or "" for code that does not count."""
        if not code.co_filename.startswith(self._root) or code.co_name in COMPREHENSIONS:
            return ""
        return f"{code.co_filename.removeprefix(self._root)}:{code.co_qualname}"

    def _pass_on_callers(self) -> None:
        """Make executors pass the caller on to their threads, which have their own contexts."""
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
    """Return where the body begins; a suspended frame is further on."""
    return next(
        (
            instruction.offset
            for instruction in dis.get_instructions(code)
            if instruction.opname == "RESUME"
        ),
        -1,
    )


def obey(recorder: Recorder, line: socket.socket) -> None:
    """Carry out the controller's commands, one per line, until it hangs up."""
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
    """Connect to the controller, in a process that was started with the hook."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(os.environ[SOCKET])
    recorder = Recorder(os.environ[ROOT])
    threading.Thread(target=obey, args=(recorder, line), daemon=True).start()
    recorder.install()
