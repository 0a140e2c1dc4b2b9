"""A headless Chromium driven by the DevTools protocol over a pipe.

Messages are JSON, each ended by NUL. A page's own script is run in that page, as that page.

Source: Chromium, `--remote-debugging-pipe`.
"""

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.browser import FLAGS, find_chromium
from tests.clients.management import Json

WAIT_S = 60
# Descriptors from which the browser reads commands, and to which it writes.
_COMMANDS, _MESSAGES = 3, 4


@dataclass
class Devtools:
    """One browser; commands wait for their results, and events are kept by their tab."""

    _commands: int
    _messages: int
    _results: dict[int, "queue.Queue[Json]"] = field(default_factory=dict)
    _tabs: dict[str, "Tab"] = field(default_factory=dict)
    _last: int = 0

    def command(self, method: str, session: str | None = None, **parameters: Any) -> Json:
        self._last += 1
        number, result = self._last, queue.Queue[Json]()
        self._results[number] = result
        message: Json = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        answer = result.get(timeout=WAIT_S)
        assert "error" not in answer, f"{method}: {answer}"
        answered: Json = answer["result"]
        return answered

    def open(self, url: str) -> "Tab":
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        tab = self._tabs[attached["sessionId"]] = Tab(self, attached["sessionId"], target)
        tab.command("Page.enable")
        tab.command("Page.setLifecycleEventsEnabled", enabled=True)
        tab.command("Runtime.enable")
        tab.go(url)
        return tab

    def read(self) -> None:
        """Read messages until the browser ends."""
        received = b""
        while data := os.read(self._messages, 1 << 20):
            *messages, received = (received + data).split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message: Json) -> None:
        if "id" in message:
            self._results.pop(message["id"]).put(message)
        elif (tab := self._tabs.get(message.get("sessionId", ""))) is not None:
            tab.events.put(message)


@dataclass
class Tab:
    """One tab.

    Attributes:
        frame: The frame of the page itself, without those inside it.
    """

    devtools: Devtools
    session: str
    frame: str
    events: "queue.Queue[Json]" = field(default_factory=queue.Queue)

    def command(self, method: str, **parameters: Any) -> Json:
        return self.devtools.command(method, self.session, **parameters)

    def go(self, url: str) -> None:
        """Go to an address as if it had been typed, and return when it is loaded."""
        loader = self.command("Page.navigate", url=url)
        assert "errorText" not in loader, loader
        self._loaded(loader["loaderId"])

    def run(self, script: str) -> Any:
        """Return the value of an expression, awaited, in the page, as after a click in it."""
        answer = self.command(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def leave(self, script: str) -> None:
        """Run an expression that makes the page go elsewhere, and wait until that is loaded."""
        self._forget_events()
        self.run(script)
        self._loaded(None)

    @property
    def url(self) -> str:
        """The address of the page that is shown."""
        history = self.command("Page.getNavigationHistory")
        url: str = history["entries"][history["currentIndex"]]["url"]
        return url

    def cookies(self, url: str) -> dict[str, str]:
        """Return the cookies that the browser has for an address, by name."""
        cookies = self.command("Network.getCookies", urls=[url])["cookies"]
        return {cookie["name"]: cookie["value"] for cookie in cookies}

    def _loaded(self, loader: str | None) -> None:
        """Wait until the page is loaded.

        Args:
            loader: The loader of a navigation; None for the next one, whichever it is.
        """
        while True:
            event = self.events.get(timeout=WAIT_S)
            given = event["params"]
            is_load = event["method"] == "Page.lifecycleEvent" and given["name"] == "load"
            if is_load and given["frameId"] == self.frame and loader in (None, given["loaderId"]):
                return

    def _forget_events(self) -> None:
        while not self.events.empty():
            self.events.get_nowait()


@contextmanager
def open_devtools(folder: Path) -> Iterator[Devtools]:
    """Start a browser.

    Args:
        folder: A new one, for the browser's profile and log.
    """
    chromium = find_chromium()
    assert chromium is not None
    folder.mkdir(parents=True)
    for_browser, commands = os.pipe()
    messages, from_browser = os.pipe()
    command = [
        chromium,
        *FLAGS,
        "--remote-debugging-pipe",
        # Names that lead to this machine: over http, browsers trust them less than an address of
        # loopback.
        "--host-resolver-rules=MAP *.test 127.0.0.1",
        f"--user-data-dir={folder / 'profile'}",
        "about:blank",
    ]
    with (folder / "browser.log").open("wb") as log:
        process = _start(command, log.fileno(), for_browser, from_browser)
    os.close(for_browser)
    os.close(from_browser)
    devtools = Devtools(commands, messages)
    reading = threading.Thread(target=devtools.read)
    reading.start()
    try:
        yield devtools
    finally:
        # The browser has its own process group: the processes that it started end with it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reading.join()
        os.close(commands)
        os.close(messages)


def _start(command: list[str], log: int, reads: int, writes: int) -> subprocess.Popen[bytes]:
    """Start a process with these two descriptors under the numbers that the browser expects."""
    # The shell moves them by `dup2`, since a function that runs between fork and exec may hang in a
    # process with threads.
    moved = f'exec "$0" "$@" {_COMMANDS}<&{reads} {_MESSAGES}>&{writes}'
    return subprocess.Popen(
        ["bash", "-c", moved, *command],
        stdout=log,
        stderr=log,
        pass_fds=(reads, writes),
        start_new_session=True,
    )
