"""Clients of a real server that stop reading an export, or go away."""

from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from fanion.exports.model import EXPORTS_AT_ONCE_MAX
from tests.clients.management import serving
from tests.support import plain_http
from tests.support.awaited import until

# Several times what connections buffer.
EVENTS, PADDING = 200, "x" * 200_000

pytestmark = pytest.mark.long("starts a server")


def test_clients_that_stop_reading_hold_a_place_until_they_leave(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, keys), ExitStack() as readers:
        for _ in range(5):
            item = {"event": "large", "distinct_id": "ada", "properties": {"text": PADDING}}
            body = {"api_key": keys.project_api_key, "batch": [item] * (EVENTS // 5)}
            plain_http.post(f"{server.url}/batch/", json=body).raise_for_status()
        headers = {"authorization": f"Bearer {keys.personal_api_key}"}
        base = f"{server.url}/api/projects/{keys.project_id}/"
        client = readers.enter_context(plain_http.Client(base_url=base, headers=headers))
        address = "events/export/?format=jsonl"
        until(lambda: _is_ingested(client), "the events are not stored")
        assert _is_exported(client, address)

        held = [client.stream("GET", address) for _ in range(EXPORTS_AT_ONCE_MAX)]
        answers = [readers.enter_context(each) for each in held]
        assert [answer.status_code for answer in answers] == [200] * EXPORTS_AT_ONCE_MAX
        refused = client.get(address)
        listed = client.get("events/?limit=1")
        for answer in answers:
            answer.close()

        assert (refused.status_code, refused.headers.get("retry-after")) == (503, "30")
        assert listed.status_code == 200
        until(lambda: _is_exported(client, address), "the places are not free")


def _is_ingested(client: httpx.Client) -> bool:
    return client.get("ingestion/").json()["waiting"]["oldest"] is None


def _is_exported(client: httpx.Client, address: str) -> bool:
    answer = client.get(address)
    return answer.status_code == 200 and answer.text.count("\n") == EVENTS
