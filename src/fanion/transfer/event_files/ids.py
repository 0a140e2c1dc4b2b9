"""Ids of imported events: the same for the same row, so that it is stored once."""

from hashlib import blake2b
from uuid import UUID

from fanion.events.event import uuid_of
from fanion.ingest.items import parse_uuid

_VERSION, _VARIANT = 8 << 76, 2 << 62
_MASK = (1 << 128) - 1 - (0xF << 76) - (3 << 62)


def id_of(*parts: bytes | str) -> UUID:
    """Return the id for a text of the source: a UUID of version 8 from its hash."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return uuid_of(int.from_bytes(digest.digest()) & _MASK | _VERSION | _VARIANT)


def given_id(value: object, kind: str) -> UUID | None:
    """Return the id that the source has given: itself if it is a UUID, else one from its text."""
    if value is None or value == "":
        return None
    return parse_uuid(value) or id_of(kind, str(value))
