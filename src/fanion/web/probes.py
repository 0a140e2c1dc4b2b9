"""The probes for liveness and readiness, and the metrics, for operators and load balancers.

These endpoints need no key, so responses are limited to what is public: names, states, ages and
the version. Addresses, settings and texts of errors go to the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

import structlog

from fanion import __version__
from fanion.observability.metrics import Metrics
from fanion.server.request import Request
from fanion.server.response import Response, json_response


class State(StrEnum):
    OK = "ok"
    OPENING = "opening"
    UNREACHABLE = "unreachable"
    FULL = "full"
    SPOOLING = "spooling"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        reason: Only for the log.
        is_needed: Whether the server is ready for requests only if the state is OK.
        numbers: Further members of the answer, by name.
    """

    state: State
    reason: str = ""
    is_needed: bool = True
    numbers: Mapping[str, float] = field(default_factory=dict, compare=False)


# `/_ready` answers within a second: for a store that takes longer it repeats the last state.
ANSWER_S_MAX = 0.8
# A store that has not answered for this long is taken to be unreachable.
SILENT_S_MAX = 5.0

T = TypeVar("T")
OK = CheckResult(State.OK)
Check = Callable[[], Awaitable[CheckResult]]


async def in_time(answer: Awaitable[T]) -> T:
    """Return the answer of a store.

    Raises:
        TimeoutError: The store does not answer; the text is one line.
    """
    try:
        async with asyncio.timeout(SILENT_S_MAX):
            return await answer
    except TimeoutError:
        raise TimeoutError(f"no answer within {SILENT_S_MAX:g} s") from None


@dataclass(slots=True)
class Probes:
    """The probes of one process.

    Attributes:
        refresh: Updates the metrics that are measured on request.
        draining: Set once the server is about to stop.
    """

    checks: Mapping[str, Check]
    metrics: Metrics
    refresh: Callable[[], Awaitable[None]]
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    _known: dict[str, CheckResult] = field(default_factory=dict)
    _checking: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)

    async def health(self, _: Request) -> Response:
        """Answer 200 while the event loop runs (liveness)."""
        return json_response({"status": "ok", "version": __version__})

    async def ready(self, _: Request) -> Response:
        """Answer whether load balancers should send requests here (readiness).

        It is 503 while a needed store is unreachable or the accept log full, and before a stop.
        """
        results = await self.check()
        is_ready = self._is_ready(results)
        checks = {name: checked.state for name, checked in results.items()}
        status = "draining" if self.draining.is_set() else "ready" if is_ready else "not ready"
        numbers = {
            name: round(number)
            for result in results.values()
            for name, number in result.numbers.items()
        }
        answer = {"status": status, "checks": checks, **numbers}
        return json_response(answer, 200 if is_ready else 503)

    async def check(self) -> Mapping[str, CheckResult]:
        """Return the state of each store.

        Concurrent requests share one run of the checks, so that load on the probes is no load on
        the stores. A check that takes longer goes on, for the next request.
        """
        for name in self.checks.keys() - self._checking.keys():
            self._checking[name] = asyncio.create_task(self._check(name))
        running = list(self._checking.values())
        if running:
            done, _ = await asyncio.wait(running, timeout=ANSWER_S_MAX)
            for task in done:
                task.result()
        opening = CheckResult(State.OPENING)
        return {name: self._known.get(name, opening) for name in self.checks}

    async def exposition(self, _: Request) -> Response:
        results = await self.check()
        self.metrics.ready.set(self._is_ready(results))
        for name, result in results.items():
            self.metrics.store_ready.labels(name).set(result.state == State.OK)
        await self.refresh()
        await self.metrics.measure_server()
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(200, self.metrics.render(), content_type=kind)

    def _is_ready(self, results: Mapping[str, CheckResult]) -> bool:
        return not self.draining.is_set() and not _is_failing(results)

    async def _check(self, name: str) -> None:
        try:
            result = await self.checks[name]()
        finally:
            del self._checking[name]
        before, self._known[name] = self._known.get(name, OK), result
        if result != before:
            self._report(name, result)

    def _report(self, name: str, checked: CheckResult) -> None:
        """Log a change of state."""
        log = structlog.get_logger()
        if checked.state == State.OK:
            log.info("store_ready", store=name)
        elif checked.state == State.OPENING:
            log.info("store_opening", store=name)
        else:
            log.warning("store_not_ready", store=name, state=checked.state, reason=checked.reason)


def _is_failing(results: Mapping[str, CheckResult]) -> bool:
    return any(result.state != State.OK and result.is_needed for result in results.values())
