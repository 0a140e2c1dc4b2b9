"""What the server and a front tell one another."""

from typing import Any

import msgspec

from fanion.observability.metrics import Measured


class Begin(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The first message to a front.

    settings: as `config.Settings`
    changes:  how many the front need not be told of
    """

    settings: dict[str, Any]
    changes: int


class LogLine(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Carries a line to the writer of the accept log."""


class Changed(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """what: "flags" or "project", with the project's id; "keys" """

    what: str
    id: int


class Room(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The answer to AskRoom. seconds: until there is room; 0 when it was taken"""

    question: int
    seconds: int


class End(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Answer what has been asked, and end."""


class Ready(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The front answers connections."""


class WantLogLine(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The front has no line to the writer of the accept log, or has lost it."""


class AskRoom(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """May a project send that much now? size: bytes; now: seconds"""

    question: int
    project_id: int
    items: int
    size: int
    now: float


class Counted(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """measured: since the front was started"""

    measured: Measured


class Take(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Carries a client's connection. first: what has been read of a request on it"""

    first: bytes


ToFront = Begin | LogLine | Changed | Room | End | Take
FromFront = Ready | WantLogLine | AskRoom | Counted | Take
