"""Released versions beside this one, real programs on one PostgreSQL: what a rolling upgrade is."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from fanion.db.migrate import oldest_program
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.postgres import Postgres
from tests.support.preloaded import PreloadedServer
from tests.support.releases import COMMITS, checked_out, schema_of
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.postgresql

KEY = "checkout"


@pytest.fixture
async def url(postgres: Postgres) -> str:
    """Of an empty database, which is dropped with the PostgreSQL of the tests."""
    return postgres.url(await postgres.create_database())


@pytest.fixture(params=COMMITS)
def released(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> Iterator[RealServer]:
    source = checked_out(request.param, tmp_path / "released")
    settings = {"FANION_DATABASE_URL": url, "PYTHONPATH": str(source)}
    server = RealServer(tmp_path / "old", settings)
    yield server
    server.close()


@pytest.fixture
def present(url: str, tmp_path: Path) -> Iterator[RealServer]:
    server = PreloadedServer(tmp_path / "new", {"FANION_DATABASE_URL": url})
    yield server
    server.close()


def test_a_version_goes_on_beside_this_one_or_is_refused(
    released: RealServer, present: RealServer
) -> None:
    if schema_of(Path(released.settings["PYTHONPATH"])) >= oldest_program():
        check_they_serve_together(released, present)
    else:
        check_refused(released, present)


def check_refused(released: RealServer, present: RealServer) -> None:
    present.command("setup")

    done = released.run("serve")

    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert f"for programs of schema {oldest_program()} and newer" in line


def check_they_serve_together(released: RealServer, present: RealServer) -> None:
    keys = released.setup_anew()
    released.start()
    present.start()
    with ExitStack() as stack:
        old, new = (stack.enter_context(_client(one, keys)) for one in (released, present))
        check_changes_are_seen(keys, changed_by=new, seen_by=old)
        check_changes_are_seen(keys, changed_by=old, seen_by=new)
        check_it_ingests(keys, old, new)

        assert released.stop() == 0
        released.start()
        check_changes_are_seen(keys, changed_by=old, seen_by=new)


def _client(server: RealServer, keys: Keys) -> httpx.Client:
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    return plain_http.Client(base_url=server.url, headers=headers, timeout=30)


def check_changes_are_seen(keys: Keys, *, changed_by: httpx.Client, seen_by: httpx.Client) -> None:
    """Of a flag and of the project."""
    project = f"/api/projects/{keys.project_id}"
    everyone = {"groups": [{"properties": [], "rollout_percentage": 100}]}
    made = changed_by.post(f"{project}/feature_flags/", json={"key": KEY, "filters": everyone})
    assert made.status_code == 201, made.text
    until(lambda: _flags(keys, seen_by) == {KEY: True}, "the new flag is not seen")
    path = f"{project}/feature_flags/{made.json()['id']}/"
    assert changed_by.patch(path, json={"deleted": True}).status_code == 200
    until(lambda: _flags(keys, seen_by) == {}, "the deletion is not seen")

    name = f"renamed by {changed_by.base_url}"
    assert changed_by.patch(f"{project}/", json={"name": name}).status_code == 200
    until(lambda: seen_by.get(f"{project}/").json()["name"] == name, "the name is not seen")


def _flags(keys: Keys, client: httpx.Client) -> object:
    answer = client.post("/decide/?v=3", json={"api_key": keys.project_api_key, "distinct_id": "d"})
    assert answer.status_code == 200, answer.text
    return answer.json()["featureFlags"]


def check_it_ingests(keys: Keys, old: httpx.Client, new: httpx.Client) -> None:
    """The released version, which was there first."""
    event = {"event": "signed up", "distinct_id": "ada", "properties": {"$set": {"plan": "pro"}}}
    captured = old.post("/capture/", json={"api_key": keys.project_api_key, **event})
    assert captured.status_code == 200, captured.text

    def plans() -> list[object]:
        answer = new.get(f"/api/projects/{keys.project_id}/persons/?distinct_id=ada")
        return [person["properties"].get("plan") for person in answer.json()["results"]]

    until(lambda: plans() == ["pro"], "the person is not there")


def test_the_documentation_names_the_oldest_version_that_goes_on(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    schemas = {one: schema_of(checked_out(one, tmp_path / one)) for one in COMMITS}

    oldest = min(version for version, schema in schemas.items() if schema >= oldest_program())

    assert f"Versions from {oldest} on go on" in " ".join(text.split())
