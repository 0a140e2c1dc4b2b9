"""Background worker that makes backups regularly, and sends deletions to their destination."""

import asyncio
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import structlog

from fanion.backup.destination import open_destination
from fanion.backup.erasures_service import keep_erasures
from fanion.backup.model import BackupRefused
from fanion.backup.snapshot import remove_leftovers
from fanion.config import Settings
from fanion.ingest.erasure_journal_store import JOURNAL_FILE
from fanion.runtime.background import run_loop
from fanion.runtime.backup_state import (
    BackupState,
    is_backup_running,
    read_backup_state,
)

LOOK_EVERY_S: Final = 10.0
# The time until a failed backup is tried again, unless backups are made more often.
AGAIN_S: Final = 15 * 60.0


class BackupWorker:
    """The worker of a server with embedded stores; it makes backups if a setting says where to.

    Args:
        now: The time of day.
    """

    def __init__(self, settings: Settings, now: Callable[[], datetime]) -> None:
        self._settings = settings
        self._folder = settings.data.resolve()
        self._now = now
        self._sent: int | None = None  # when the journal was written that the destination has
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def run(self) -> None:
        """Remove what a killed backup has left, then make backups until cancelled."""
        if not is_backup_running(self._folder):
            await asyncio.to_thread(remove_leftovers, self._settings)
        if not self._settings.backup_to:
            return
        await run_loop(self.work, LOOK_EVERY_S, "backup_waits", (BackupRefused, OSError))

    async def work(self) -> None:
        """Make a backup if one is due, else send the deletions that the destination lacks.

        Raises:
            BackupRefused: The deletions cannot be sent.
            OSError: The deletions cannot be sent.
        """
        if is_backup_running(self._folder):
            return
        if self.is_due(read_backup_state(self._folder)):
            await self._make_backup()
        else:
            await self._send_deletions()

    def is_due(self, state: BackupState | None) -> bool:
        """Return whether a backup is due, by the outcome of the last one."""
        if state is None or state.destination != open_destination(self._settings.backup_to).where:
            return True
        wait_s = self._settings.backup_every_s
        if state.error or not state.has_ended:
            wait_s = min(wait_s, AGAIN_S)
        return self._now() - state.started_at >= timedelta(seconds=wait_s)

    async def _make_backup(self) -> None:
        settings = self._settings
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fanion.backup.scheduled_main",
            str(self._folder), settings.backup_to, settings.backup_keep,
            stdin=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        state = read_backup_state(self._folder)
        if code == 0 and state is not None:
            self._log.info("backup_made", destination=state.destination, bytes=state.size)
        else:
            error = state.error if state and state.error else f"exit code {code}"
            self._log.error("backup_failed", reason=error)

    async def _send_deletions(self) -> None:
        try:
            written = (self._folder / JOURNAL_FILE).stat().st_mtime_ns
        except FileNotFoundError:
            return
        if written != self._sent:
            await asyncio.to_thread(self._send)
            self._sent = written

    def _send(self) -> None:
        destination = open_destination(self._settings.backup_to)
        with destination.locked(shared=False):
            keep_erasures(self._folder, destination)
