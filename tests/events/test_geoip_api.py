"""The places of addresses, in events, persons and flags."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fanion.events.storage.store import EventStore
from tests.support.application import AppServer, Tenant, open_app_server, open_tenant
from tests.support.maxmind import write_maxmind

GERMANY = {"country": {"iso_code": "DE", "names": {"en": "Germany"}}}
FROM_GERMANY = {"x-forwarded-for": "192.0.2.44"}
PLACE = {"$geoip_country_name": "Germany", "$geoip_country_code": "DE"}
INITIAL = {"$initial_geoip_country_name": "Germany", "$initial_geoip_country_code": "DE"}


@pytest.fixture(scope="module")
async def located_app_server(
    sqlite_template: Path, events: EventStore, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AppServer]:
    folder = tmp_path_factory.mktemp("located")
    shutil.copyfile(sqlite_template, folder / "records.db")
    database = write_maxmind(folder / "country.mmdb", {"192.0.2.0/24": GERMANY})
    url = f"sqlite:///{folder}/records.db"
    async with open_app_server(
        url, events, folder, geoip_db=str(database), trusted_proxies="127.0.0.1"
    ) as app_server:
        yield app_server


@pytest.fixture
async def located(located_app_server: AppServer, project_id: int) -> AsyncIterator[Tenant]:
    async with open_tenant(located_app_server, project_id) as tenant:
        yield tenant


async def send(tenant: Tenant, **properties: object) -> None:
    event = {"event": "seen", "distinct_id": "u1", "properties": properties}
    body = {"api_key": tenant.token, **event}
    answer = await tenant.public.post("/capture/", json=body, headers=FROM_GERMANY)
    assert answer.status_code == 200
    await tenant.server.ingested()


async def test_event_and_person_get_the_place_of_the_address(located: Tenant) -> None:
    await send(located)

    [event] = await located.events()
    person = await located.person("u1")
    assert event["properties"] == {"$ip": "192.0.2.44", **PLACE}
    assert person["properties"] == {**PLACE, **INITIAL}


async def test_a_client_may_say_no(located: Tenant) -> None:
    await send(located, **{"$geoip_disable": True})

    [event] = await located.events()
    assert event["properties"] == {"$ip": "192.0.2.44", "$geoip_disable": True}
    assert (await located.person("u1"))["properties"] == {}


async def test_the_place_is_found_even_when_the_address_is_not_stored(located: Tenant) -> None:
    await located.api.patch("/", json={"ingestion": {"anonymize_ips": True}})
    await send(located)

    [event] = await located.events()
    assert event["properties"] == PLACE


async def test_flags_see_the_place_of_the_caller(located: Tenant) -> None:
    condition = {"key": "$geoip_country_code", "type": "person", "value": "DE"}
    group = {"properties": [condition], "rollout_percentage": 100}
    await located.create_flag(key="in-germany", filters={"groups": [group]})
    body = {"api_key": located.token, "distinct_id": "somebody"}

    async def flags(headers: dict[str, str], **fields: object) -> object:
        answer = await located.public.post("/decide/?v=3", json={**body, **fields}, headers=headers)
        return answer.json()["featureFlags"]

    assert await flags(FROM_GERMANY) == {"in-germany": True}
    assert await flags({}) == {"in-germany": False}
    assert await flags(FROM_GERMANY, geoip_disable=True) == {"in-germany": False}
