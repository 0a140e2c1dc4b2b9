"""Properties from the caller's location count like sent properties."""

import json
from dataclasses import replace
from typing import Any

import httpx

from fanion.server.forwarded import TrustedProxies, read_networks
from fanion.server.request import Request
from tests.support.application import Tenant

PLACES = {"81.2.69.142": {"$geoip_country_code": "GB"}, "1.2.3.4": {"$geoip_country_code": "AU"}}


async def flag_for(tenant: Tenant, country: str) -> None:
    leaf = {"key": "$geoip_country_code", "type": "person", "value": country}
    await tenant.create_flag(key="here", filters={"groups": [{"properties": [leaf]}]})


async def decided(tenant: Tenant, peer: str, forwarded: str | None = None, **fields: Any) -> Any:
    """Return the flag's value from the serving endpoint, with a made-up location database."""
    endpoint = tenant.server.running.public.flags.endpoints.decide
    proxies = TrustedProxies(read_networks("127.0.0.1, 10.0.0.0/8"))
    located = replace(endpoint, locate=lambda address: PLACES.get(address, {}), proxies=proxies)
    body = json.dumps({"api_key": tenant.token, "distinct_id": "ann", **fields}).encode()
    headers = httpx.Headers({} if forwarded is None else {"x-forwarded-for": forwarded})
    answer = await located.decide(Request("POST", "/decide", "v=3", headers, peer, body))
    return json.loads(answer.body)["featureFlags"]["here"]


async def test_the_address_of_the_caller_says_where_it_is(tenant: Tenant) -> None:
    await flag_for(tenant, "GB")

    assert await decided(tenant, "81.2.69.142:4711") is True
    assert await decided(tenant, "1.2.3.4:4711") is False
    assert await decided(tenant, "127.0.0.1:4711", "81.2.69.142, 10.0.0.1") is True
    assert await decided(tenant, "127.0.0.1:4711", "81.2.69.142:80") is True
    assert await decided(tenant, "[::1]:4711") is False
    assert await decided(tenant, "1.2.3.4:4711", "81.2.69.142") is False
    assert await decided(tenant, "127.0.0.1:4711", "81.2.69.142, 1.2.3.4") is False


async def test_the_place_hides_the_stored_one_and_is_hidden_by_the_sent_one(tenant: Tenant) -> None:
    await flag_for(tenant, "GB")
    stored = {"$geoip_country_code": "GB"}
    await tenant.capture({"event": "$identify", "distinct_id": "ann", "$set": stored})

    assert await decided(tenant, "127.0.0.1:1") is True
    assert await decided(tenant, "1.2.3.4:1") is False
    assert await decided(tenant, "1.2.3.4:1", person_properties=stored) is True


async def test_a_client_may_ask_not_to_be_located(tenant: Tenant) -> None:
    await flag_for(tenant, "GB")

    assert await decided(tenant, "81.2.69.142:1", geoip_disable=True) is False
    assert await decided(tenant, "81.2.69.142:1", geoip_disable="yes") is False
    assert await decided(tenant, "81.2.69.142:1", disable_geoip=True) is False
    assert await decided(tenant, "81.2.69.142:1", geoip_disable="0") is True
