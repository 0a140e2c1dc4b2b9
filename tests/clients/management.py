"""The management API of the one project, as a user with a personal key sees it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import plain_http
from tests.support.awaited import has_caught_up
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

VISIBLE_S = 120
POLL_S = 0.05

Json = dict[str, Any]


@contextmanager
def serving(folder: Path) -> Iterator[tuple[RealServer, Keys]]:
    """Run a server with an empty data folder."""
    server = PreloadedServer(folder / "data")
    keys = server.setup()
    server.start()
    yield server, keys
    server.close()


class Api:
    """A client of the management API that is safe to share between threads."""

    def __init__(self, server: RealServer, keys: Keys) -> None:
        self._metrics_url = f"{server.url}/metrics"
        self._client = plain_http.Client(
            base_url=f"{server.url}/api/projects/{keys.project_id}",
            headers={"Authorization": f"Bearer {keys.personal_api_key}"},
            timeout=20,
        )

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, **query: str) -> Any:
        answer = self._client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def create_flag(self, **flag: Any) -> None:
        answer = self._client.post("/feature_flags/", json=flag)
        assert answer.status_code == 201, answer.text

    def requests(self, **labels: str | int) -> float:
        """Return how many requests with these labels the server has answered."""
        metrics = self._client.get(self._metrics_url).text.splitlines()
        counted = [line for line in metrics if line.startswith("fanion_requests_total{")]
        written = [f'{name}="{value}"' for name, value in labels.items()]
        return sum(
            float(line.split()[-1]) for line in counted if all(label in line for label in written)
        )

    def person(self, distinct_id: str) -> Json:
        (person,) = self.get("/persons/", distinct_id=distinct_id)["results"]
        body: Json = person
        return body

    def events(self, distinct_id: str, count: int) -> list[Json]:
        """Return the events of a distinct id, once there are `count` of them."""
        return self.await_events(count, distinct_id=distinct_id)

    def await_events(self, count: int, **query: str) -> list[Json]:
        """Return the events that a query finds, once there are `count` and all is ingested.

        Events become visible a moment before the persons and groups that they change.
        """
        events: list[Json] = []

        def are_there() -> bool:
            events[:] = self.get("/events/", **query)["results"]
            return len(events) >= count

        _await(are_there, lambda: f"{query} finds {[e['event'] for e in events]}, not {count}")
        _await(self._is_ingested, lambda: "events still wait for ingestion")
        return events

    def _is_ingested(self) -> bool:
        return has_caught_up(self._client.get(self._metrics_url).text)


def _await(condition: Callable[[], bool], reason: Callable[[], str]) -> None:
    give_up = time.monotonic() + VISIBLE_S
    while not condition():
        assert time.monotonic() < give_up, reason()
        time.sleep(POLL_S)
