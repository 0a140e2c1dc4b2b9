"""Messages between the server and its web workers."""

from typing import Any

import msgspec

from fanion.observability.metrics import Measured


class WorkerStart(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The first message to a web worker.

    settings: as `config.Settings`
    changes:  how many `Changed` messages were sent before
    """

    settings: dict[str, Any]
    changes: int


class LogChannel(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Carries a channel to the writer process of the accept log."""


class Changed(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """what: "flags" or "project", with the project's id; "keys" """

    what: str
    id: int


class RateLimitAnswer(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """seconds: until the project may send that much; 0 when it may now, and it is counted"""

    request_id: int
    seconds: int


class Stop(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Answer the requests under way, and end."""


class Ready(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The web worker answers connections."""


class NeedLogChannel(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The web worker has no channel to the writer process of the accept log, or has lost it."""


class RateLimitRequest(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """May a project send that much now? size: bytes; now: seconds"""

    request_id: int
    project_id: int
    items: int
    size: int
    now: float


class MetricsReport(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """measured: since the web worker was started"""

    measured: Measured


class HandOver(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Carries a client's connection. first: what has been read of a request on it"""

    first: bytes


ToWorker = WorkerStart | LogChannel | Changed | RateLimitAnswer | Stop | HandOver
ToServer = Ready | NeedLogChannel | RateLimitRequest | MetricsReport | HandOver
