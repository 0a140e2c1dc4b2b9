"""posthog-js as pages of other origins load it from the server."""

import gzip
import re
import zlib

import httpx
import msgspec
import pytest

from fanion.console.build import NOT_BUILT, file_of
from fanion.console.endpoints import NO_SDK
from fanion.console.sdk_script import with_configuration
from tests.console.serving.builds import ARRAY, BUILD, VERSION, client_of, packed
from tests.support.application import Tenant, error

ORIGIN = "https://shop.example"
NOT_FOUND = error("invalid_request", "not_found", "Not found.")


async def test_a_page_of_another_origin_loads_the_script(served: httpx.AsyncClient) -> None:
    headers = {"origin": ORIGIN, "accept-encoding": "gzip, br"}
    answer = await served.get("/static/array.js", headers=headers)

    assert (answer.status_code, answer.content) == (200, ARRAY)
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["content-encoding"] == "br"
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert {"Accept-Encoding", "Origin"} <= set(re.split(", ?", answer.headers["vary"]))


async def test_the_script_is_not_sent_again_to_who_has_it(served: httpx.AsyncClient) -> None:
    etag = (await served.get("/static/array.js")).headers["etag"]
    answer = await served.get("/static/array.js?v=9", headers={"if-none-match": etag})

    assert (answer.status_code, answer.content) == (304, b"")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/static/{VERSION}/array.js", 200),
        ("/static/1.0.0/array.js", 404),  # the client then asks for the one without a version
        ("/static/recorder.js", 404),
        ("/static/", 404),
    ],
)
async def test_a_script_of_another_version_is_not_served(
    served: httpx.AsyncClient, path: str, status: int
) -> None:
    answer = await served.get(path)

    assert answer.status_code == status
    if status == 404:
        assert answer.json() == NOT_FOUND
    elif VERSION in path:
        assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("accept", ["gzip, br", "identity"])
async def test_the_script_of_a_project_has_its_configuration_in_front(
    tenant: Tenant, accept: str
) -> None:
    async with client_of(tenant.server, BUILD) as client:
        headers = {"accept-encoding": accept, "origin": ORIGIN}
        answer = await client.get(f"/array/{tenant.token}/array.js", headers=headers)
        configuration = await client.get(f"/array/{tenant.token}/config.js")

    assert answer.content == configuration.content + ARRAY
    assert answer.headers.get("content-encoding") == ("gzip" if "gzip" in accept else None)
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["cache-control"] == "public, max-age=300"
    match = re.search(rb'CONFIG\["(.+?)"\] = (\{.*\});\n\}\)', answer.content)
    assert match is not None and match[1].decode() == tenant.token
    assert msgspec.json.decode(match[2])["config"]["hasFeatureFlags"] is True


async def test_the_script_of_a_project_is_not_sent_again_to_who_has_it(tenant: Tenant) -> None:
    path = f"/array/{tenant.token}/array.js"
    async with client_of(tenant.server, BUILD) as client:
        etag = (await client.get(path)).headers["etag"]
        answer = await client.get(path, headers={"if-none-match": etag})

    assert (answer.status_code, answer.content) == (304, b"")


async def test_an_unknown_token_is_answered_as_its_configuration(
    served: httpx.AsyncClient,
) -> None:
    script = await served.get("/array/phc_nobody/array.js")
    configuration = await served.get("/array/phc_nobody/config.js")

    assert (script.status_code, script.json()) == (404, NOT_FOUND)
    assert (configuration.status_code, configuration.json()) == (404, NOT_FOUND)


@pytest.mark.parametrize(
    "path", ["/static/array.js", "/static/1.2.3/surveys.js", "/array/{}/array.js"]
)
async def test_without_a_build_the_answer_says_how_to_get_it(tenant: Tenant, path: str) -> None:
    async with client_of(tenant.server, NOT_BUILT) as client:
        answer = await client.get(path.format(tenant.token), headers={"origin": ORIGIN})

    assert (answer.status_code, answer.text) == (404, NO_SDK)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["cache-control"] == "no-store"


async def test_they_are_served_without_the_console(tenant: Tenant) -> None:
    async with client_of(tenant.server, BUILD, console="off") as client:
        assert (await client.get("/static/array.js")).content == ARRAY


@pytest.mark.parametrize("first", [b"", b"a", b"configuration" * 9_000, bytes(range(256))])
def test_two_texts_are_one_gzip_member(first: bytes) -> None:
    file = with_configuration(first, file_of("array.js", packed(ARRAY)))

    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # reads one member
    assert stream.decompress(file.bodies["gzip"]) == first + ARRAY
    assert stream.eof and stream.unused_data == b""
    assert gzip.decompress(file.bodies["gzip"]) == file.bodies["identity"]


def test_each_configuration_has_an_etag_of_its_own() -> None:
    script = file_of("array.js", packed(ARRAY))
    etags = {with_configuration(text, script).etag("gzip") for text in (b"a", b"b")}

    assert len(etags | {script.etag("gzip")}) == 3
