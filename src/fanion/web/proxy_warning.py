"""Tells the operator, once, that a peer sends forwarded headers which are not believed."""

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


class Ignored(msgspec.Struct, frozen=True):
    """peer: an address, as it was met; at: aware, UTC"""

    peer: str
    at: datetime


class IgnoredHeaders:
    """The first time in this process it is a line of the log, and a file of the data folder for
    `fanion doctor`, which is another process. folder: None for no file"""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._is_told = False

    def __call__(self, peer: str) -> None:
        """Writes beside the event loop. peer: an address"""
        if self._is_told:
            return
        self._is_told = True
        structlog.get_logger().warning(
            "forwarded_headers_ignored",
            peer=peer,
            advice="If this peer is your proxy, add its address to FANION_TRUSTED_PROXIES.",
        )
        if self._folder is not None:
            found = Ignored(peer, utc_now())
            Thread(target=_note, args=(self._folder.resolve(), found), daemon=True).start()


def trusted_proxies(settings: Settings) -> TrustedProxies:
    return TrustedProxies(settings.trusted_networks, IgnoredHeaders(settings.data))


def ignored_headers(folder: Path) -> Ignored | None:
    """What was noted since the server started; a file that cannot be read says nothing."""
    try:
        return msgspec.json.decode((folder / _MARKER).read_bytes(), type=Ignored)
    except (OSError, msgspec.MsgspecError):
        return None


def forget_ignored_headers(folder: Path) -> None:
    """At a start: what was noted may be mended."""
    with suppress(OSError):
        (folder / _MARKER).unlink(missing_ok=True)


def _note(folder: Path, found: Ignored) -> None:
    """Whole or not at all, by whichever process of the server. Without room the log tells alone."""
    new = folder / f"{_MARKER}.{os.getpid()}"
    with suppress(OSError):
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(found))
        new.replace(folder / _MARKER)
