"""What operators and load balancers ask: is it alive, is it ready, how is it doing."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from fanion.http import Request, Response, json_response
from fanion.metrics import Metrics

# Returns nothing when all is well, else a short reason.
Check = Callable[[], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Probes:
    checks: Mapping[str, Check]
    metrics: Metrics
    refresh: Callable[[], Awaitable[None]]

    async def health(self, _: Request) -> Response:
        """The process lives and its event loop turns."""
        return json_response({"status": "ok"})

    async def ready(self, _: Request) -> Response:
        """503 with the reasons while a store is out of reach or the log is full."""
        results = {name: await check() for name, check in self.checks.items()}
        failing = any(reason is not None for reason in results.values())
        checks = {name: reason or "ok" for name, reason in results.items()}
        status = "not ready" if failing else "ready"
        return json_response({"status": status, "checks": checks}, 503 if failing else 200)

    async def exposition(self, _: Request) -> Response:
        await self.refresh()
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(200, self.metrics.render(), content_type=kind)
