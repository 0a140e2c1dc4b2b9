"""The current posthog package from PyPI against the real server."""

import json
from collections.abc import Iterator

import pytest
from posthog import Posthog

from tests.clients.management import Api
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.server import Keys, RealServer

# The package announces a newer method to read flags; both send the same request.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.long("real clients of a real server"),
]


@pytest.fixture
def posthog(server: tuple[RealServer, Keys]) -> Iterator[Posthog]:
    running, keys = server
    client = Posthog(keys.project_api_key, host=running.url, flush_interval=0.05)
    yield client
    client.shutdown()


def test_captured_events_arrive_with_their_properties(posthog: Posthog, api: Api) -> None:
    posthog.capture("page viewed", distinct_id="ann", properties={"path": "/", "n": 3})
    posthog.capture("signed up", distinct_id="ann", properties={"plan": "pro"})
    posthog.flush()

    events = api.events("ann", 2)
    by_name = {event["event"]: event["properties"] for event in events}
    assert by_name["page viewed"]["path"] == "/"
    assert by_name["page viewed"]["n"] == 3
    assert by_name["page viewed"]["$lib"] == "posthog-python"
    assert by_name["signed up"]["plan"] == "pro"


@pytest.mark.parametrize("compression", [None, "gzip", "deflate"])
def test_the_newest_protocol_arrives_in_every_compression(
    server: tuple[RealServer, Keys], api: Api, compression: str | None
) -> None:
    running, keys = server
    user = f"newest {compression}"
    client = Posthog(
        keys.project_api_key,
        host=running.url,
        capture_mode="v1",
        capture_compression=compression,
    )

    client.capture("paid", distinct_id=user, properties={"amount": 12.5, "$set": {"plan": "pro"}})
    client.shutdown()

    (event,) = api.events(user, 1)
    assert event["properties"]["amount"] == 12.5
    assert event["properties"]["$lib"] == "posthog-python"
    assert api.person(user)["properties"]["plan"] == "pro"
    assert '"path":"/i/v1/analytics/events"' in running.log_path.read_text()


@pytest.mark.parametrize("protocol", ["v0", "v1"])
def test_a_rate_limit_delays_events_and_loses_none(
    server: tuple[RealServer, Keys], protocol: str
) -> None:
    """The test takes two seconds: the client waits as long as the server says."""
    running, keys = server
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    with plain_http.Client(base_url=running.url, headers=headers) as managing:
        limited = managing.post("/api/projects/", json={"name": f"limited {protocol}"}).json()
        project = f"/api/projects/{limited['id']}"
        rate = {"items_per_second": 5, "burst_seconds": 1}
        managing.patch(f"{project}/", json={"ingestion": rate}).raise_for_status()
        client = Posthog(
            limited["api_token"], host=running.url, capture_mode=protocol, flush_at=5, thread=1
        )
        for number in range(20):
            client.capture("paid", distinct_id="ann", properties={"number": number})
        client.shutdown()
        arrived: set[int] = set()

        def all_have() -> bool:
            events = managing.get(f"{project}/events/").json()["results"]
            arrived.update(event["properties"]["number"] for event in events)
            return len(arrived) == 20

        until(all_have, "events are missing")

    lines = [line for line in running.log_path.read_text().splitlines() if '"status":503' in line]
    path = "/i/v1/analytics/events" if protocol == "v1" else "/batch/"
    assert [line for line in lines if f'"path":"{path}"' in line]


def test_events_of_ai_arrive(posthog: Posthog, server: tuple[RealServer, Keys], api: Api) -> None:
    sent = posthog.capture_ai("$ai_generation", distinct_id="ai", properties={"$ai_model": "m"})
    posthog.flush()

    (event,) = api.events("ai", 1)
    assert (event["id"], event["event"]) == (sent, "$ai_generation")
    assert event["properties"]["$ai_model"] == "m"
    assert '"path":"/i/v0/ai/batch/"' in server[0].log_path.read_text()


def test_set_makes_person_properties(posthog: Posthog, api: Api) -> None:
    posthog.set(distinct_id="bob", properties={"email": "bob@example.com"})
    posthog.set_once(distinct_id="bob", properties={"email": "other@example.com", "source": "ad"})
    posthog.flush()

    api.events("bob", 2)
    (person,) = api.get("/persons/", distinct_id="bob")["results"]
    assert person["properties"]["email"] == "bob@example.com"
    assert person["properties"]["source"] == "ad"


def test_alias_joins_two_ids_into_one_person(posthog: Posthog, api: Api) -> None:
    posthog.capture("visited", distinct_id="visitor-1")
    posthog.alias("visitor-1", "carol")
    posthog.capture("paid", distinct_id="carol")
    posthog.flush()

    api.events("carol", 1)
    (person,) = api.get("/persons/", distinct_id="carol")["results"]
    assert sorted(person["distinct_ids"]) == ["carol", "visitor-1"]
    of_person = api.get("/events/", person_id=person["id"])["results"]
    assert {event["event"] for event in of_person} == {"visited", "$create_alias", "paid"}


def test_flags_answer_with_variant_and_payload(posthog: Posthog, api: Api) -> None:
    api.create_flag(key="everyone", filters={"groups": [{"rollout_percentage": 100}]})
    api.create_flag(key="nobody", filters={"groups": [{"rollout_percentage": 0}]})
    api.create_flag(
        key="color",
        filters={
            "groups": [{"properties": [], "rollout_percentage": 100}],
            "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]},
            "payloads": {"blue": json.dumps({"hex": "#00f"})},
        },
    )

    assert posthog.feature_enabled("everyone", "dan") is True
    assert posthog.feature_enabled("nobody", "dan") is False
    assert posthog.get_feature_flag("color", "dan") == "blue"
    assert posthog.get_feature_flag_payload("color", "dan") == {"hex": "#00f"}


def test_a_flag_sees_the_properties_that_were_set(posthog: Posthog, api: Api) -> None:
    api.create_flag(
        key="staff",
        filters={
            "groups": [
                {
                    "properties": [
                        {
                            "key": "email",
                            "type": "person",
                            "operator": "icontains",
                            "value": "@fanion.example",
                        }
                    ],
                    "rollout_percentage": 100,
                }
            ]
        },
    )
    posthog.set(distinct_id="eve", properties={"email": "eve@fanion.example"})
    posthog.flush()
    api.events("eve", 1)

    assert posthog.feature_enabled("staff", "eve") is True
    assert posthog.feature_enabled("staff", "somebody else") is False


def test_a_flag_read_reports_its_use(posthog: Posthog, api: Api) -> None:
    api.create_flag(key="used", filters={"groups": [{"rollout_percentage": 100}]})

    posthog.get_feature_flag("used", "fay")
    posthog.flush()

    (event,) = api.events("fay", 1)
    assert event["event"] == "$feature_flag_called"
    assert event["properties"]["$feature_flag"] == "used"
    assert event["properties"]["$feature_flag_response"] is True
