"""Server-sent events, parsed like a browser does."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Message:
    """A message of a stream.

    Attributes:
        id: "" if it has none.
    """

    event: str
    id: str
    data: Any


def parsed(block: str) -> Message | None:
    """Parse a message; return None for comments and the time of reconnection.

    Args:
        block: Without its blank line.
    """
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        if name:
            assert name in {"event", "id", "data", "retry"}, line
            assert name not in fields, line
            fields[name] = value.removeprefix(" ")
    if "data" not in fields:
        return None
    return Message(fields.get("event", "message"), fields.get("id", ""), json.loads(fields["data"]))


def messages(text: str) -> list[Message]:
    """Parse complete messages."""
    blocks = text.split("\n\n")
    return [message for block in blocks if (message := parsed(block)) is not None]
