"""A project, and the data that tests put into it through the public API."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from sqlalchemy import Connection, create_engine

from fanion.accept_log.port import Envelope, LogEntry
from fanion.ingest.ledger.dead_letters_store import insert_dead_letter
from tests.support import plain_http
from tests.support.awaited import has_caught_up, until
from tests.support.server import RealServer

Json = dict[str, Any]
# Ids of log entries that the server does not reach.
_PLACES = count(10**12)


@dataclass(frozen=True)
class Project:
    """A project with its keys.

    Attributes:
        personal_key: The key of the owner.
        token: The token of the project.
    """

    server: RealServer
    personal_key: str
    id: int
    token: str

    def at(self, path: str = "") -> str:
        """Return a path of the console: `at("flags")`."""
        return f"/project/{self.id}/{path}"

    def get(self, path: str, **query: str | int) -> Any:
        """Return the response to a GET.

        Args:
            path: The path below the project, as in the API: `/feature_flags/`.
        """
        return self._api("GET", path, params=query)

    def post(self, path: str, **body: Any) -> Json:
        return self._made("POST", path, body)

    def patch(self, path: str, **body: Any) -> Json:
        return self._made("PATCH", path, body)

    def delete(self, path: str) -> None:
        self._api("DELETE", path)

    def flag(self, key: str, *conditions: Json, **fields: Any) -> Json:
        """Create a flag.

        Args:
            conditions: As `when` makes them; without any, the flag is for everybody.
        """
        groups = list(conditions) or [when()]
        filters = {"groups": groups, **fields.pop("filters", {})}
        return self.post("/feature_flags/", key=key, filters=filters, **fields)

    def cohort(self, name: str, *leaves: Json, **fields: Any) -> Json:
        """Create a cohort of the persons that have all these properties, as `has` makes them."""
        filters = {"properties": {"type": "AND", "values": list(leaves)}}
        return self.post("/cohorts/", name=name, filters=filters, **fields)

    def capture(self, *items: Json) -> None:
        """Capture a batch of events, and return when they and their persons can be read."""
        body = {"api_key": self.token, "batch": list(items)}
        with plain_http.Client(base_url=self.server.url, timeout=60) as client:
            answer = client.post("/batch/", json=body)
            assert answer.is_success, answer.text
            until(lambda: has_caught_up(client.get("/metrics").text), "events still wait")

    def persons(self, **properties: Json) -> None:
        """Create persons by their distinct ids: `persons(ann={"email": "ann@corp.example"})`."""
        self.capture(
            *(
                {"event": "$identify", "distinct_id": name, "$set": own_properties}
                for name, own_properties in properties.items()
            )
        )

    def events(self, name: str, *distinct_ids: str, **properties: Any) -> None:
        """Capture one event of each person."""
        self.capture(
            *(
                {"event": name, "distinct_id": distinct_id, "properties": properties}
                for distinct_id in distinct_ids
            )
        )

    def dead_letter(self, *items: Json, error: str) -> None:
        """Store a request that was accepted and could not be ingested then; a retry ingests it."""
        now = datetime.now(UTC)
        body = json.dumps({"batch": items}).encode()
        envelope = Envelope(self.id, now, "192.0.2.7", "posthog-python/7.91.1", None, body)
        with self.records() as connection:
            entry = LogEntry(next(_PLACES), envelope)
            insert_dead_letter(connection, entry, len(items), error, now)

    @contextmanager
    def records(self) -> Iterator[Connection]:
        """Open a transaction of the server's records store, beside the server."""
        engine = create_engine(f"sqlite:///{self.server.data}/records.db")
        try:
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()

    def static_cohort(self, name: str, *distinct_ids: str) -> Json:
        """Create a cohort from a file, which is imported in the background."""
        files = {"csv": ("members.csv", "\n".join(distinct_ids), "text/csv")}
        sent = {"name": name, "is_static": "true"}
        made: Json = self._api("POST", "/cohorts/", data=sent, files=files)
        return made

    def await_cohorts(self) -> None:
        """Return when all cohorts are calculated."""

        def are_calculated() -> bool:
            cohorts = self.get("/cohorts/")["results"]
            return all(
                cohort["count"] is not None and not cohort["is_calculating"] for cohort in cohorts
            )

        until(are_calculated, "cohorts are not calculated")

    def person(self, distinct_id: str) -> Json:
        (body,) = self.get("/persons/", distinct_id=distinct_id)["results"]
        person: Json = body
        return person

    def _made(self, method: str, path: str, body: Json) -> Json:
        made: Json = self._api(method, path, json=body)
        return made

    def _api(self, method: str, path: str, **options: Any) -> Any:
        key = {"authorization": f"Bearer {self.personal_key}"}
        base = f"{self.server.url}/api/projects/{self.id}"
        with plain_http.Client(base_url=base, headers=key, timeout=60) as client:
            answer = client.request(method, path, **options)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


def has(key: str, value: Any, operator: str = "exact", type: str = "person") -> Json:  # noqa: A002
    return {"key": key, "value": value, "operator": operator, "type": type}


def when(*filters: Json, rollout: float = 100, **fields: Any) -> Json:
    """Return a condition set of a flag: `when(has("plan", "pro"), rollout=20)`."""
    return {"properties": list(filters), "rollout_percentage": rollout, **fields}
