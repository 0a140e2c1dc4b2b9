"""Clients that call a real server without a pause, and remember the answers."""

import itertools
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.support import plain_http

FIRST = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class LoadAnswer:
    """An answer to one of the clients.

    Attributes:
        place: How many answers the same kind of client had seen when this one was requested.
    """

    place: int
    status: int
    body: Any
    headers: httpx.Headers
    sent: str = ""


@dataclass
class Load:
    """The load on one server.

    Attributes:
        acknowledged: The names of the events that were answered with 200.
    """

    url: str
    token: str
    decided: list[LoadAnswer] = field(default_factory=list)
    captured: list[LoadAnswer] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def acknowledged(self) -> set[str]:
        return {answer.sent for answer in self.captured if answer.status == 200}

    def decide(self) -> None:
        body = {"api_key": self.token, "distinct_id": "ann"}
        with plain_http.Client() as client:
            while not self._stop.is_set():
                seen_before = len(self.decided)
                answer = client.post(f"{self.url}/decide?v=3", json=body)
                self.decided.append(
                    LoadAnswer(seen_before, answer.status_code, answer.json(), answer.headers)
                )

    def capture(self) -> None:
        with plain_http.Client() as client:
            while not self._stop.is_set():
                seen_before, event = len(self.captured), self._event()
                answer = client.post(f"{self.url}/capture/", json=event)
                self.captured.append(
                    LoadAnswer(
                        seen_before,
                        answer.status_code,
                        answer.json(),
                        answer.headers,
                        event["event"],
                    )
                )

    def _event(self) -> dict[str, Any]:
        """Return an event that its name and time distinguish in lists of events."""
        number = next(self._numbers)
        return {
            "api_key": self.token,
            "event": f"e{number}",
            "distinct_id": "ann",
            "uuid": str(uuid.uuid4()),
            "timestamp": (FIRST + timedelta(seconds=number)).isoformat(),
        }

    @contextmanager
    def running(self, deciders: int, capturers: int) -> Iterator[None]:
        """Run clients until the block ends, then raise the error that a client met, if any."""
        work: list[Callable[[], None]] = [self.decide] * deciders + [self.capture] * capturers
        with ThreadPoolExecutor(len(work)) as threads:
            clients: list[Future[None]] = [threads.submit(each) for each in work]
            try:
                yield
            finally:
                self._stop.set()
        for client in clients:
            client.result()


def requested_after(answers: list[LoadAnswer], place: int) -> list[LoadAnswer]:
    """Return answers to requests that were sent after the first `place` answers had arrived."""
    return [answer for answer in answers if answer.place > place]
