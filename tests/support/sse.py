"""Server-sent events, as a browser reads them."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Message:
    """id: "" if it has none"""

    event: str
    id: str
    data: Any


def parsed(block: str) -> Message | None:
    """None for comments and the time of reconnection. block: without its blank line"""
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
    """Of complete messages."""
    blocks = text.split("\n\n")
    return [message for block in blocks if (message := parsed(block)) is not None]
