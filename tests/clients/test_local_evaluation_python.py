"""Local evaluation of flags by the posthog package, compared with that of the server."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from posthog import Posthog

from tests.support import plain_http
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

USERS = 2_000
GROUP = "organization"

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.long("real clients of a real server"),
]

Json = dict[str, Any]


def leaf(key: str, value: Any, operator: str = "exact", **fields: Any) -> Json:
    return {"key": key, "type": "person", "operator": operator, "value": value, **fields}


def condition(*leaves: Json, share: float | None = None, variant: str | None = None) -> Json:
    return {"properties": list(leaves), "rollout_percentage": share, "variant": variant}


def variants(*shares: float) -> Json:
    listed = [{"key": f"v{index}", "rollout_percentage": s} for index, s in enumerate(shares)]
    return {"variants": listed}


def flags(cohort_id: int, nested_id: int) -> dict[str, Json]:
    """Return flags by key that an SDK can decide by itself."""
    in_cohort = {"key": "id", "type": "cohort", "value": cohort_id}
    outside = {"key": "id", "type": "cohort", "value": nested_id, "operator": "not_in"}
    by_group = {"key": "size", "type": "group", "group_type_index": 0, "value": ["10", "20"]}
    return {
        "half": {"groups": [condition(share=50)]},
        "tenth-of-a-percent": {"groups": [condition(share=0.1)]},
        "colors": {"groups": [condition(share=80)], "multivariate": variants(33.3, 33.3, 33.4)},
        "pros": {"groups": [condition(leaf("plan", ["pro", "team"]), share=60)]},
        "not-free": {"groups": [condition(leaf("plan", "free", "is_not"))]},
        "corporate": {"groups": [condition(leaf("email", "@corp.example", "icontains"))]},
        "pattern": {"groups": [condition(leaf("email", r"^a.*@.*\.example$", "regex"))]},
        "old": {"groups": [condition(leaf("age", "40", "gt"))]},
        "since": {"groups": [condition(leaf("joined", "2024-06-01", "is_date_after"))]},
        "several": {
            "groups": [
                condition(leaf("plan", "pro"), share=30, variant="v1"),
                condition(leaf("age", "30", "lte"), share=70),
                condition(share=10, variant="v0"),
            ],
            "multivariate": variants(50, 50),
        },
        "payloads": {
            "groups": [condition(share=90)],
            "multivariate": variants(50, 50),
            "payloads": {"v0": '{"n": 0}', "v1": '"one"'},
        },
        "in-cohort": {"groups": [condition(in_cohort, share=75)]},
        "not-in-cohort": {"groups": [condition(outside), condition(share=5)]},
        "of-groups": {
            "groups": [condition(share=40)], "aggregation_group_type_index": 0,
        },
        "of-big-groups": {
            "groups": [{"properties": [by_group], "rollout_percentage": 70}],
            "aggregation_group_type_index": 0,
        },
        "nobody": {"groups": [condition(share=0)]},
    }  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    server = PreloadedServer(Path(tmp_path_factory.mktemp("local")) / "data")
    keys = server.setup()
    server.start()
    try:
        store(server, keys)
        yield server, keys
    finally:
        server.close()


def store(server: RealServer, keys: Keys) -> None:
    """Store cohorts, a group type and the flags."""
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    base = f"{server.url}/api/projects/{keys.project_id}"
    with plain_http.Client(base_url=base, headers=headers) as client:
        inner = cohort(client, leaf("plan", "free"), leaf("age", "50", "lt"))
        outer = cohort(client, leaf("email", "corp", "icontains"), of=inner)
        for key, filters in flags(outer, inner).items():
            answer = client.post("/feature_flags/", json={"key": key, "filters": filters})
            assert answer.status_code == 201, answer.text
        inactive = {"key": "inactive", "active": False, "filters": {"groups": [{}]}}
        client.post("/feature_flags/", json=inactive).raise_for_status()
        event = {"event": "seen", "distinct_id": "u", "properties": {"$groups": {GROUP: "g"}}}
        body = {"api_key": keys.project_api_key, **event}
        plain_http.post(f"{server.url}/capture/", json=body).raise_for_status()
        while not definitions(server, keys)["group_type_mapping"]:
            pass


def cohort(client: httpx.Client, *leaves: Json, of: int | None = None) -> int:
    nested = [] if of is None else [{"key": "id", "type": "cohort", "value": of, "negation": True}]
    tree = {"type": "OR", "values": [{"type": "AND", "values": [*leaves, *nested]}]}
    answer = client.post("/cohorts/", json={"name": "C", "filters": {"properties": tree}})
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


def definitions(server: RealServer, keys: Keys) -> Json:
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    body: Json = plain_http.get(f"{server.url}/flags/definitions", headers=headers).json()
    return body


class User:
    def __init__(self, chance: random.Random, number: int) -> None:
        name = chance.choice(("ann", "bob", "Al"))
        self.id = f"user-{number}"
        self.person = {
            "plan": chance.choice(("free", "pro", "Pro", "team", "")),
            "email": f"{name}@{chance.choice(('corp', 'CORP', 'home'))}.example",
            "age": chance.choice((18, 30, 40, 41, 65)),
            "joined": chance.choice(("2024-05-31", "2024-06-02T10:00:00Z", "2025-01-01")),
        }
        self.groups = {GROUP: f"org-{chance.randrange(200)}"}
        self.group = {GROUP: {"size": chance.choice(("10", "20", "30"))}}


@pytest.mark.parametrize("secret", [False, True], ids=["personal key", "secret key"])
def test_thousands_of_users_get_the_same_here_and_there(
    server: tuple[RealServer, Keys], secret: bool
) -> None:
    running, keys = server
    chance = random.Random(7)
    key = secret_key(running, keys) if secret else keys.personal_api_key
    client: Any = Posthog(keys.project_api_key, host=running.url, personal_api_key=key)
    users = [User(chance, number) for number in range(USERS if not secret else 20)]
    client.load_feature_flags()

    with plain_http.Client(base_url=running.url) as http:
        for user in users:
            there = remote(http, keys, user)
            here = client.get_all_flags_and_payloads(
                user.id,
                groups=user.groups,
                person_properties=user.person,
                group_properties=user.group,
                only_evaluate_locally=True,
            )

            assert without_inactive(here["featureFlags"]) == there["featureFlags"], vars(user)
            assert here["featureFlagPayloads"] == there["featureFlagPayloads"]
    client.shutdown()


def remote(http: httpx.Client, keys: Keys, user: User) -> Json:
    body = {
        "token": keys.project_api_key,
        "distinct_id": user.id,
        "groups": user.groups,
        "person_properties": user.person,
        "group_properties": user.group,
    }
    answer = http.post("/flags", json=body)
    evaluated: Json = answer.json()
    assert evaluated["errorsWhileComputingFlags"] is False
    assert len(evaluated["featureFlags"]) == len(flags(0, 0))
    return evaluated


def without_inactive(values: Any) -> Json:
    """The SDK knows flags that are switched off; the server does not return them."""
    remaining = dict(values)
    assert remaining.pop("inactive") is False
    return remaining


def secret_key(server: RealServer, keys: Keys) -> str:
    answer = plain_http.post(
        f"{server.url}/api/projects/{keys.project_id}/secret_key/",
        headers={"Authorization": f"Bearer {keys.personal_api_key}"},
    )
    secret: str = answer.json()["secret_api_key"]
    return secret


def test_unchanged_definitions_are_not_sent_again(server: tuple[RealServer, Keys]) -> None:
    running, keys = server
    key = keys.personal_api_key
    client: Any = Posthog(keys.project_api_key, host=running.url, personal_api_key=key)

    client.load_feature_flags()
    client._load_feature_flags()

    metrics = plain_http.get(f"{running.url}/metrics").text
    assert 'route="flag_definitions",status="304"' in metrics
    assert client.get_feature_flag("nobody", "u", only_evaluate_locally=True) is False
    client.shutdown()
