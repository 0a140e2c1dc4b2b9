"""The format of server-sent events, and the pace of all streams of them.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from typing import Final

MEDIA_TYPE: Final = "text/event-stream"
# Compression would hold messages back, and so would a proxy's buffer.
HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
# A comment, which clients ignore.
HEARTBEAT: Final = b":\n\n"
# Proxies cut connections that are silent for 60 s, some for 30.
HEARTBEAT_S: Final = 10.0
# How often the access of listeners is checked. The cached state of a key may be two seconds old.
ACCESS_CHECK_S: Final = 3.0


def encode_message(data: bytes, *, event: str = "", event_id: str = "") -> bytes:
    """Return one message.

    Args:
        data: Without line ends.
        event: The type of the message; "" for the default, `message`.
        event_id: What a client sends as `Last-Event-ID`; "" for none.
    """
    lines = [
        *([b"id: " + event_id.encode()] if event_id else ()),
        *([b"event: " + event.encode()] if event else ()),
        b"data: " + data,
    ]
    return b"\n".join(lines) + b"\n\n"
