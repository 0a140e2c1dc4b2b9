"""The questions that a data folder is asked, and the comparison of two versions' answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

Json = dict[str, Any]

FOLDER = Path(__file__).parent
# Rows that change while a folder rests, or with each start and calculation. They are left out.
VOLATILE = frozenset(
    {
        "last_used_at",
        "last_seen_at",
        "last_calculation",
        "next_calculation",
        "is_calculating",
        "last_refresh",
        "next_allowed_client_refresh",
        "is_cached",
        "requestId",
        "request_id",
        "evaluatedAt",
        "evaluated_at",
        "volume_30_day",
        "query_usage_30_day",
        "rows_read",
        "seconds",
    }
)
DISTINCT_IDS = ("anon-1", "ann", "ann@work", "bob", "bob-old", "cid", "late-0", "stranger-1")


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request to the API.

    Attributes:
        key: `personal`, `secret` or empty.
        body: The body of a POST.
    """

    path: str
    key: str = "personal"
    body: Any = None


class Asked(msgspec.Struct, frozen=True):
    question: Question
    answer: Any


class Record(msgspec.Struct, frozen=True):
    """The answers that one version served from its folder, where alone its keys are valid.

    Attributes:
        events: The number of events in the end, with those that wait in the accept log.
    """

    version: str
    project_id: int
    project_api_key: str
    personal_api_key: str
    secret_api_key: str
    events: int
    asked: list[Asked]

    def client(self, address: str) -> httpx.Client:
        return httpx.Client(base_url=address, verify=False, timeout=30)

    def ask(self, client: httpx.Client, question: Question) -> Any:
        """The answer, without what may differ from start to start."""
        keys = {"personal": self.personal_api_key, "secret": self.secret_api_key}
        headers = {}
        if question.key in keys:
            headers["authorization"] = f"Bearer {keys[question.key]}"
        method = "GET" if question.body is None else "POST"
        answer = client.request(method, question.path, headers=headers, json=question.body)
        assert answer.status_code == 200, f"{question}: {answer.status_code} {answer.text}"
        text = answer.text.replace(str(client.base_url).rstrip("/"), "http://server")
        return _lasting(msgspec.json.decode(text))

    def events_served(self, client: httpx.Client) -> int:
        question = Question(f"/api/projects/{self.project_id}/events/?limit=1000")
        return len(self.ask(client, question)["results"])


def read_record(path: Path) -> Record:
    return msgspec.json.decode(path.read_bytes(), type=Record)


def write_record(path: Path, record: Record) -> None:
    """A line for each question, so that a change of one shows as one."""
    head = msgspec.json.encode(msgspec.structs.replace(record, asked=[]))
    lines = b",\n".join(map(msgspec.json.encode, record.asked))
    path.write_bytes(head.removesuffix(b"]}") + b"\n" + lines + b"\n]}\n")


def questions(record: Record, client: httpx.Client) -> Iterator[Question]:
    """All that is to be recorded, asking for the ids that paths name."""

    def ids(path: str) -> list[Any]:
        return [result["id"] for result in record.ask(client, Question(path))["results"]]

    project = f"/api/projects/{record.project_id}"
    for path in _OF_ACCOUNT:
        yield Question(path)
    for path in _OF_PROJECT:
        yield Question(project + path)
    for number in ids(f"{project}/feature_flags/?limit=100"):
        for kind in ("", "role_access/", "scheduled_changes/", "activity/"):
            yield Question(f"{project}/feature_flags/{number}/{kind}")
    for number in _with_release(record, client, project):
        yield Question(f"{project}/feature_flags/{number}/guarded_release/")
    for number in ids(f"{project}/cohorts/?limit=100"):
        yield Question(f"{project}/cohorts/{number}/persons/?limit=100")
        yield Question(f"{project}/cohorts/{number}/activity/")
    for number in ids(f"{project}/dashboards/"):
        yield Question(f"{project}/dashboards/{number}/")
    for number in ids(f"{project}/persons/?limit=100"):
        yield Question(f"{project}/persons/{number}/")
        yield Question(f"{project}/persons/{number}/activity/")
    for number in ids("/api/organizations/@current/roles/"):
        yield Question(f"/api/organizations/@current/roles/{number}/role_memberships/")
    yield Question("/flags/definitions?send_cohorts", key="secret")
    yield Question(f"{project}/feature_flags/base/remote_config/", key="secret")
    yield from _evaluations(record.project_api_key)


def _with_release(record: Record, client: httpx.Client, project: str) -> list[int]:
    flags = record.ask(client, Question(f"{project}/feature_flags/?limit=100"))["results"]
    return [flag["id"] for flag in flags if flag["key"] == "released"]


def missing(expected: Any, found: Any, place: str = "") -> Iterator[str]:
    """Yield the places where an answer no longer says what it said.

    New fields are no difference, nor is what a list of addresses holds that was always empty.
    """
    if expected == [] and place.endswith(".persons_urls"):
        return
    if isinstance(expected, dict) and isinstance(found, dict):
        for name, value in expected.items():
            if name not in found:
                yield f"{place}.{name} is gone"
            else:
                yield from missing(value, found[name], f"{place}.{name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from missing(one, other, f"{place}[{number}]")
    elif expected != found or type(expected) is not type(found):
        yield f"{place} is {found!r}, was {expected!r}"


def _evaluations(token: str) -> Iterator[Question]:
    for name in DISTINCT_IDS:
        body = {
            "api_key": token,
            "token": token,
            "distinct_id": name,
            "groups": {"company": "acme"},
        }
        yield Question("/flags/?v=2", key="", body=body)
        yield Question("/decide/?v=3", key="", body=body)


def _lasting(node: Any) -> Any:
    if isinstance(node, dict):
        kept = node.keys() - VOLATILE
        if "result" in kept and _is_of_today(node.get("filters", {})):
            kept -= {"result"}
        return {name: _lasting(one) for name, one in node.items() if name in kept}
    return [_lasting(child) for child in node] if isinstance(node, list) else node


def _is_of_today(filters: Json) -> bool:
    """The result of an insight with a range like `-7d` is another one every day."""
    return bool(filters) and not str(filters.get("date_from", "")).startswith("2")


_OF_ACCOUNT = (
    "/api/projects/",
    "/api/users/@me/",
    "/api/personal_api_keys/",
    "/api/organizations/@current/",
    "/api/organizations/@current/members/",
    "/api/organizations/@current/roles/",
    "/api/organizations/@current/resource_access/",
)
_OF_PROJECT = (
    "/",
    "/actions/",
    "/activity_log/?limit=100",
    "/alerts/",
    "/annotations/",
    "/batch_exports/",
    "/cohorts/?limit=100",
    "/dashboards/",
    "/event_definitions/?limit=100&ordering=name",
    "/events/?limit=100",
    "/experiment_holdouts/",
    "/experiment_saved_metrics/",
    "/experiments/",
    "/feature_flags/?limit=100",
    "/feature_flags/activity/?limit=100",
    "/feature_flags/local_evaluation/?send_cohorts",
    "/groups/?group_type_index=0",
    "/groups/?group_type_index=1",
    "/groups_types/",
    "/ingestion/dead_letters/",
    "/insights/?limit=100",
    "/insights/trend/?events=%5B%7B%22id%22%3A%22seen%22%7D%5D"
    "&date_from=2024-01-28&date_to=2024-02-05&breakdown=path",
    "/persons/funnel/?insight=FUNNELS&events=%5B%7B%22id%22%3A%22seen%22%7D%2C%7B%22id%22%3A"
    "%22paid%22%2C%22order%22%3A1%7D%5D&date_from=2024-01-28&date_to=2024-02-05&funnel_step=2",
    "/persons/?limit=100",
    "/property_definitions/?limit=100",
    "/segments/",
    "/webhooks/",
)
