"""`fanion import-posthog` from one real server into another."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import json, structs

from fanion.cohorts.definition import filters_of_groups
from fanion.transfer.document import SECTIONS, Document, read_document
from tests.rich_project import PEOPLE, Site, make_rich_project
from tests.server import Keys, RealServer

Json = dict[str, Any]

WAIT_S = 40
POLL_S = 0.05


class Place:
    """A real server with its one project."""

    def __init__(self, folder: Path) -> None:
        self.server = RealServer(folder)
        self.keys: Keys = self.server.setup()
        self.server.start()

    def client(self) -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        return httpx.AsyncClient(headers=headers, timeout=30)

    def exported(self) -> Document:
        project = str(self.keys.project_id)
        return read_document(self.server.command("export", "--project", project).encode())

    def imported_from(self, source: "Place", *more: str) -> Json:
        told = self.server.command(
            "import-posthog",
            *("--host", source.server.url),
            *("--personal-key", source.keys.personal_api_key),
            *("--project", str(source.keys.project_id)),
            *("--into", str(self.keys.project_id)),
            "--json",
            *more,
        )
        found: Json = json.decode(told)
        return found

    def capture(self, *items: Json, historical: bool = False) -> None:
        body = {"api_key": self.keys.project_api_key, "batch": items}
        answer = httpx.post(
            f"{self.server.url}/batch/",
            json={**body, "historical_migration": historical},
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        self.ingested()

    def ingested(self) -> None:
        give_up = time.monotonic() + WAIT_S
        while "\nfanion_log_lag_envelopes 0.0" not in httpx.get(f"{self.server.url}/metrics").text:
            assert time.monotonic() < give_up, "events still wait for ingestion"
            time.sleep(POLL_S)


async def make_project(place: Place) -> None:
    place.capture(*PEOPLE)
    async with place.client() as client:
        site = Site(client, place.server.url, place.keys.project_id)
        me = (await client.get(f"{place.server.url}/api/users/@me/")).json()
        await make_rich_project(site, me["uuid"], lambda: members_known(site))


async def members_known(site: Site, count: int = 2) -> None:
    give_up = time.monotonic() + WAIT_S
    while True:
        found = (await site.get("/cohorts/"))["results"]
        if any(one["name"] == "friends" and one["count"] == count for one in found):
            return
        assert time.monotonic() < give_up, found
        await asyncio.sleep(POLL_S)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(Path(tmp_path_factory.mktemp("source")) / "data")
    asyncio.run(make_project(place))
    yield place
    place.server.close()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path / "data")
    yield place
    place.server.close()


def comparable(document: Document) -> Document:
    """Without what the API does not tell, or each server has for itself."""
    none = {"created_at": None, "last_seen_at": None, "hidden": False, "verified": False}
    return structs.replace(
        document,
        event_definitions=[structs.replace(one, **none) for one in document.event_definitions],
        cohorts=[
            structs.replace(one, filters=one.filters or filters_of_groups(one.groups), groups=[])
            for one in document.cohorts
        ],
    )


def results(told: Json, *wanted: str) -> list[Json]:
    return [one for one in told["outcomes"] if one["result"] in wanted]


async def test_a_project_is_taken_over_from_a_running_server(source: Place, target: Place) -> None:
    target.capture(*PEOPLE)

    trial = target.imported_from(source, "--dry-run")
    untouched = target.exported()
    made = target.imported_from(source)
    again = target.imported_from(source)
    async with target.client() as client:
        await members_known(Site(client, target.server.url, target.keys.project_id))

    assert trial["outcomes"] == made["outcomes"]
    assert untouched.flags == []
    assert results(made, "skipped") == results(again, "created", "updated", "skipped") == []
    here, there = comparable(target.exported()), comparable(source.exported())
    for section in SECTIONS:
        assert getattr(here, section) == getattr(there, section)
