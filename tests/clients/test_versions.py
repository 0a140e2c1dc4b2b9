"""A folder that an earlier version left is migrated by a start, and served as it was then.

A version is added with `python -m tests.versions.record`, which writes both of its files.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.awaited import has_caught_up, until
from tests.support.preloaded import PreloadedServer
from tests.versions.answers import FOLDER, Record, missing, read_record
from tests.versions.record import unpack

pytestmark = pytest.mark.long("starts a server on what each version left")

VERSIONS = sorted(path.stem for path in FOLDER.glob("*.json"))


@pytest.fixture(scope="module", params=VERSIONS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[PreloadedServer, Record]]:
    """Started on what the version left."""
    record = read_record(FOLDER / f"{request.param}.json")
    folder = Path(tmp_path_factory.mktemp("version"))
    server = PreloadedServer(unpack(FOLDER / f"{record.version}.tar.xz", folder / "data"))
    server.start()
    yield server, record
    server.close()


@pytest.fixture
def client(server: tuple[PreloadedServer, Record]) -> Iterator[httpx.Client]:
    """Once what waited in the accept log is ingested."""
    process, record = server
    with record.client(process.url) as client:
        until(lambda: record.events_served(client) >= record.events, "events are missing")
        until(lambda: has_caught_up(client.get("/metrics").text), "persons are missing")
        yield client


def test_every_version_has_its_two_files() -> None:
    assert VERSIONS
    assert [path.name.removesuffix(".tar.xz") for path in sorted(FOLDER.glob("*.xz"))] == VERSIONS


def test_everything_is_served_as_it_was(
    server: tuple[PreloadedServer, Record], client: httpx.Client
) -> None:
    _, record = server

    differences = [
        f"{asked.question.path} {difference}"
        for asked in record.asked
        for difference in missing(asked.answer, record.ask(client, asked.question))
    ]

    assert record.events_served(client) == record.events
    assert differences == []


def test_what_is_changed_then_outlives_another_start(
    server: tuple[PreloadedServer, Record], client: httpx.Client
) -> None:
    process, record = server
    key = {"api_key": record.project_api_key}
    event = key | {"event": "after", "distinct_id": "ann"}
    headers = {"authorization": f"Bearer {record.personal_api_key}"}
    flags = f"/api/projects/{record.project_id}/feature_flags/"

    captured = client.post("/capture/", json=event)
    created = client.post(flags, json={"key": "after", "name": "x"}, headers=headers)
    stopped = process.stop()
    process.start()
    until(lambda: record.events_served(client) == record.events + 1, "the event is missing")
    returned = client.get(f"{flags}{created.json()['id']}/", headers=headers)

    assert (captured.status_code, created.status_code, stopped) == (200, 201, 0)
    assert returned.json()["key"] == "after"


def test_stored_groups_have_properties_in_questions_about_events(
    server: tuple[PreloadedServer, Record], client: httpx.Client
) -> None:
    """Comes last, since it adds an event."""
    _, record = server
    headers = {"authorization": f"Bearer {record.personal_api_key}"}
    size = {"key": "size", "type": "group", "group_type_index": 0, "operator": "gt", "value": 10}
    asked = {"events": [{"id": "met", "properties": [size]}], "refresh": True}
    met = {"event": "met", "distinct_id": "ann", "properties": {"$groups": {"company": "acme"}}}

    def counted() -> float:
        path = f"/api/projects/{record.project_id}/insights/trend/"
        answer = client.post(path, json=asked, headers=headers)
        assert answer.status_code == 200, answer.text
        return float(answer.json()["result"][0]["count"])

    client.post("/capture/", json={"api_key": record.project_api_key, **met})

    until(lambda: counted() == 1, "the group has no properties")


@pytest.mark.parametrize(
    ("expected", "found", "differences"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"b": 1}, [".a is gone"]),
        ({"a": [1, 2]}, {"a": [1]}, [".a is [1], was [1, 2]"]),
        ([{"a": 1}], [{"a": 2}], ["[0].a is 2, was 1"]),
        (1, True, [" is True, was 1"]),
        (None, None, []),
    ],
)
def test_answers_are_compared_field_by_field(
    expected: object, found: object, differences: list[str]
) -> None:
    assert list(missing(expected, found)) == differences
