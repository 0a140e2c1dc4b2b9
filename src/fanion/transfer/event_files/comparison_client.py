"""The events that a server has of an import, by its API, compared with those that were sent."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from fanion.transfer.event_files.blocks_reader import MARK
from fanion.transfer.event_files.progress_store import Progress

WAIT_S = 10.0
POLL_S = 0.5
WAIT_S_MAX = 1800.0
# The query's texts of times are in the zone of the project.
_MARGIN = timedelta(days=2)
_COUNT = (
    "select event, count() from events where timestamp >= {since} and timestamp < {until} "
    f"and properties.{MARK} = {{job}} group by event limit 10000"
)


class TargetError(Exception):
    """A refusal or failure of the server; the text is one line."""


class Difference(Struct, frozen=True):
    """An event name whose number of stored events is not the number that was sent."""

    event: str
    sent: int
    stored: int


class Comparison(Struct):
    """The counts of an import.

    Attributes:
        stored: The number of stored events of this import.
        differences: By event name.
        ingested: What ingestion did with all events of the project since the import began, by
            reason; those that were stored are left out.
        is_ingested: Whether all that was sent has been ingested.
    """

    stored: int
    differences: list[Difference]
    ingested: dict[str, int]
    is_ingested: bool


async def require_server(host: str) -> None:
    """Check that a server answers, since a copy waits long for one that does not.

    Raises:
        TargetError: It does not.
    """
    try:
        async with httpx.AsyncClient(timeout=WAIT_S, trust_env=False) as client:
            await client.get(f"{host}/_ready")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TargetError(f"{host} cannot be reached: {_words(error)}") from None


class Target:
    """The project of a server into which is imported, with a personal key."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        project_id: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client, self._path, self._sleep = client, f"/api/projects/{project_id}/", sleep

    async def project_key(self) -> str:
        """Return the key with which events are sent.

        Raises:
            TargetError: The server refuses or cannot be reached.
        """
        answer = await self._ask("GET", "")
        return str(answer["api_token"])

    async def now(self) -> datetime:
        """Return the server's time.

        Raises:
            TargetError: The server refuses or cannot be reached.
        """
        report = await self._ask("GET", "ingestion/")
        return datetime.fromisoformat(report["end"])

    async def compare(self, progress: Progress, begun_at: datetime) -> Comparison:
        """Wait until everything is ingested, and compare.

        Raises:
            TargetError: The server refuses or cannot be reached.
        """
        is_ingested, reasons = await self._await_ingestion(begun_at)
        stored = await self._stored(progress)
        names = [*progress.names, *(name for name in stored if name not in progress.names)]
        pairs = [(name, progress.names.get(name, 0), stored.get(name, 0)) for name in names]
        differences = [Difference(*pair) for pair in pairs if pair[1] != pair[2]]
        return Comparison(sum(stored.values()), differences, reasons, is_ingested)

    async def _await_ingestion(self, begun_at: datetime) -> tuple[bool, dict[str, int]]:
        """Wait until no request waits that was accepted before now."""
        since = (begun_at - timedelta(minutes=1)).isoformat().replace("+00:00", "Z")
        sent_at: datetime | None = None
        waited_s = 0.0
        while True:
            report = await self._ask("GET", "ingestion/", params={"from": since})
            sent_at = sent_at or datetime.fromisoformat(report["end"])
            waiting = report["waiting"]
            oldest = waiting and waiting["oldest"]
            is_ingested = waiting is not None and (
                oldest is None or datetime.fromisoformat(oldest) > sent_at
            )
            if is_ingested or waited_s >= WAIT_S_MAX:
                reasons = {reason["reason"]: reason["items"] for reason in report["reasons"]}
                return is_ingested, reasons
            await self._sleep(POLL_S)
            waited_s += POLL_S

    async def _stored(self, progress: Progress) -> dict[str, int]:
        if progress.first is None or progress.last is None:
            return {}
        values = {
            "job": progress.job,
            "since": _day(progress.first - _MARGIN),
            "until": _day(progress.last + _MARGIN),
        }
        query = {"kind": "HogQLQuery", "query": _COUNT, "values": values}
        answer = await self._ask("POST", "query/", json={"query": query, "refresh": True})
        return dict(answer["results"])

    async def _ask(self, method: str, path: str, **options: Any) -> Mapping[str, Any]:
        try:
            answer = await self._client.request(method, self._path + path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TargetError(f"the server cannot be reached: {_words(error)}") from None
        if answer.status_code != 200:
            text = " ".join(answer.text.split())[:300]
            raise TargetError(
                f"{self._path}{path}: the server responds with {answer.status_code}: {text}"
            )
        try:
            return msgspec.json.decode(answer.content, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise TargetError(f"{self._path}{path}: not an answer of Fanion: {error}") from None


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
