"""The warning, given once, that a peer which is not a trusted proxy sends forwarded headers."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Thread

import msgspec
import structlog

from fanion.config import Settings
from fanion.runtime.clock import utc_now
from fanion.server.forwarded import TrustedProxies

_MARKER = "ignored-forwarding.json"


class IgnoredForwarding(msgspec.Struct, frozen=True):
    """The record of an ignored header.

    Attributes:
        peer: The sender's address.
        at: Aware, in UTC.
    """

    peer: str
    at: datetime


class IgnoredHeaders:
    """A callback of `TrustedProxies` that reports ignored headers.

    The first call in a process writes a log line, and a file in the data folder, where `fanion
    doctor` reads it.

    Args:
        folder: None for no file.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._is_reported = False

    def __call__(self, peer: str) -> None:
        """Report the first ignored header; the file is written in a thread.

        Args:
            peer: The sender's address.
        """
        if self._is_reported:
            return
        self._is_reported = True
        structlog.get_logger().warning(
            "forwarded_headers_ignored",
            peer=peer,
            advice="If this peer is your proxy, add its address to FANION_TRUSTED_PROXIES.",
        )
        if self._folder is not None:
            record = IgnoredForwarding(peer, utc_now())
            Thread(target=_write_record, args=(self._folder.resolve(), record), daemon=True).start()


def trusted_proxies(settings: Settings) -> TrustedProxies:
    return TrustedProxies(settings.trusted_networks, IgnoredHeaders(settings.data))


def ignored_headers(folder: Path) -> IgnoredForwarding | None:
    """Return the first record since the server started, or None if there is none to read."""
    try:
        return msgspec.json.decode((folder / _MARKER).read_bytes(), type=IgnoredForwarding)
    except (OSError, msgspec.MsgspecError):
        return None


def forget_ignored_headers(folder: Path) -> None:
    """Delete the record at a start, because the configuration may have been corrected."""
    with suppress(OSError):
        (folder / _MARKER).unlink(missing_ok=True)


def _write_record(folder: Path, record: IgnoredForwarding) -> None:
    """Write the file atomically, since several processes may write it; a full disk is ignored."""
    new = folder / f"{_MARKER}.{os.getpid()}"
    with suppress(OSError):
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(record))
        new.replace(folder / _MARKER)
