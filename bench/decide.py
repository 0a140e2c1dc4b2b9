"""Flag evaluation over HTTP, for a returning stored person and for new persons."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx
import msgspec

from bench import load, servers
from bench.ingestion import wait_until_ingested
from bench.report import Row
from tests.support.server import Keys, RealServer

FLAGS = (1, 50, 500)
PROPERTIES: Mapping[str, object] = {"plan": "pro", "email": "ann@example.com", "age": 30}


@dataclass(frozen=True)
class Case:
    """Requests to one path.

    Attributes:
        targets: The rates that are wanted, as parts of the floor's, for each of FLAGS.
    """

    name: str
    path: str
    targets: tuple[float, ...]

    def request(
        self, keys: Keys, person: str = "user-1", properties: Mapping[str, object] | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        """Return the body and the headers."""
        if "ofrep" in self.path:
            context = {"targetingKey": person, **(properties or {})}
            return msgspec.json.encode({"context": context}), {"X-API-Key": keys.project_api_key}
        body: dict[str, object] = {"api_key": keys.project_api_key, "distinct_id": person}
        if properties:
            body["person_properties"] = properties
        return msgspec.json.encode(body), {}


CASES = (
    Case("decide", "/decide?v=3", (0.35, 0.15, 0.04)),
    Case("flags", "/flags?v=2", (0.3, 0.07, 0.01)),
    Case("OFREP", "/ofrep/v1/evaluate/flags", (0.3, 0.07, 0.01)),
)


def run() -> Iterator[Row]:
    for number, flags in enumerate(FLAGS):
        with servers.floor() as floor, servers.fanion() as (server, keys):
            store(server, keys, flags)
            for case in CASES:
                name = f"{case.name}, {flags} flag{'s' if flags > 1 else ''}"
                body, headers = case.request(keys)
                bare = load.post(floor, body)
                yield _row(name, _answered(server, case, body, headers), bare, case.targets[number])
                body, headers = case.request(keys, f"user-{load.NUMBER}", PROPERTIES)
                ours = _answered(server, case, body, headers)
                yield _row(f"{name}, new persons", ours, bare)


def _answered(server: RealServer, case: Case, body: bytes, headers: Mapping[str, str]) -> load.Load:
    ours = load.post(server.url + case.path, body, headers, processes=[server.pid])
    assert ours.failed == 0, ours
    return ours


def _row(name: str, ours: load.Load, bare: load.Load, target: float = 0.0) -> Row:
    return Row(
        name,
        f"{ours.requests_per_s:,.0f}/s ({ours.shown})",
        f"{bare.requests_per_s:,.0f}/s",
        ours.requests_per_s / bare.requests_per_s,
        target,
    )


def store(server: RealServer, keys: Keys, flags: int) -> None:
    """Store `flags` flags of two conditions each, every second one multivariate, and one person."""
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    with httpx.Client(base_url=server.url, headers=headers) as client:
        for number in range(flags):
            answer = client.post(
                f"/api/projects/{keys.project_id}/feature_flags/", json=flag(number)
            )
            answer.raise_for_status()
        item = {
            "event": "$identify",
            "distinct_id": "user-1",
            "properties": {"$set": PROPERTIES},
        }
        client.post("/capture/", json={"api_key": keys.project_api_key, **item}).raise_for_status()
    wait_until_ingested(server)


def flag(number: int) -> dict[str, object]:
    plan = {"key": "plan", "type": "person", "operator": "exact", "value": ["team", "pro"]}
    email = {"key": "email", "type": "person", "operator": "icontains", "value": f"{number}@"}
    filters: dict[str, object] = {
        "groups": [
            {"properties": [email], "rollout_percentage": 100},
            {"properties": [plan], "rollout_percentage": 60},
        ]
    }
    if number % 2:
        variants = [
            {"key": "control", "rollout_percentage": 50},
            {"key": "test", "rollout_percentage": 50},
        ]
        filters["multivariate"] = {"variants": variants}
    return {"key": f"flag-{number}", "filters": filters}
