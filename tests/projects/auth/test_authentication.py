"""Authentication: who may call, where the key is, and which project is meant."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from fanion.db.batching import READ_KEYS_MAX
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.tables import personal_api_keys, projects, users
from fanion.errors import InvalidApiKey, InvalidPersonalApiKey, Unavailable
from fanion.projects.auth.authentication_service import CACHED_S, Authentication
from fanion.projects.auth.keys import hash_key
from fanion.projects.auth.model import Principal
from fanion.projects.auth.personal_keys_store import PersonalKeyStore
from fanion.projects.cache import ABSENT_S, Projects
from fanion.projects.model import Project
from fanion.projects.store import ProjectStore
from tests.support.awaited import SOON_S
from tests.support.management import (
    OWNER_KEY,
    PROJECT_TOKEN,
    Workspace,
    add_member,
    add_neighbour,
    error,
    invalid,
    open_workspace,
)

ME = "/api/users/@me/"
CURRENT = "/api/projects/@current/"
NO_KEY = error(
    "authentication_error", "not_authenticated", "Authentication credentials were not provided."
)


def wrong_key(location: str) -> dict[str, Any]:
    return error(
        "authentication_error",
        "invalid_personal_api_key",
        f"Personal API key found in request {location} is invalid.",
    )


def denied(detail: str) -> dict[str, Any]:
    return error("authentication_error", "permission_denied", detail)


UNKNOWN_TOKEN = error("authentication_error", "invalid_api_key", InvalidApiKey.default_detail)


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records) as opened:
        yield opened


@pytest.mark.parametrize(
    "authorization",
    [
        f"Bearer {OWNER_KEY}",
        f"Bearer    {OWNER_KEY}  ",
        f"  Bearer\t{OWNER_KEY}",
        f"bearer {OWNER_KEY}",
        f"BEARER {OWNER_KEY}",
    ],
)
async def test_a_key_in_the_header_opens(shared_workspace: Workspace, authorization: str) -> None:
    async with shared_workspace.client_with(None) as client:
        response = await client.get(ME, headers={"authorization": authorization})

    assert response.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer  "},
        {"authorization": OWNER_KEY},
        {"authorization": f"Token {OWNER_KEY}"},
        {"authorization": "Basic b3duZXI6cGFzcw=="},
        {"authorization": f"Bearer{OWNER_KEY}"},
    ],
)
async def test_another_scheme_counts_as_no_key(
    shared_workspace: Workspace, headers: Mapping[str, str]
) -> None:
    async with shared_workspace.client_with(None) as client:
        response = await client.get(ME, headers=headers)

    assert (response.status_code, response.json()) == (401, NO_KEY)
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.every_engine
@pytest.mark.parametrize("key", ["phx_unknown", PROJECT_TOKEN, "x", "é", "x" * 5000])
async def test_an_unknown_key_is_refused(shared_workspace: Workspace, key: str) -> None:
    async with shared_workspace.client_with(None) as client:
        response = await client.get(ME, headers={b"authorization": f"Bearer {key}".encode()})

    assert (response.status_code, response.json()) == (401, wrong_key("Authorization header"))


async def test_a_key_may_stand_in_a_json_body(workspace: Workspace) -> None:
    async with workspace.client_with(None) as client:
        good = await client.post(
            "/api/projects/", json={"name": "x", "personal_api_key": OWNER_KEY}
        )
        bad = await client.post("/api/projects/", json={"name": "x", "personal_api_key": "phx_no"})

    assert good.status_code == 201
    assert (bad.status_code, bad.json()) == (401, wrong_key("body"))


async def test_a_key_may_stand_in_the_query(workspace: Workspace) -> None:
    async with workspace.client_with(None) as client:
        good = await client.get(ME, params={"personal_api_key": OWNER_KEY})
        bad = await client.get(ME, params={"personal_api_key": "phx_no"})

    assert good.status_code == 200
    assert (bad.status_code, bad.json()) == (401, wrong_key("query string"))


async def test_only_the_first_key_found_is_tried(workspace: Workspace) -> None:
    query = {"personal_api_key": OWNER_KEY}
    async with workspace.client_with("phx_no") as client:
        header_first = await client.post("/api/projects/", params=query, json=query)
    async with workspace.client_with(None) as client:
        body_second = await client.post(
            "/api/projects/", params=query, json={"personal_api_key": "phx_no"}
        )

    assert header_first.json() == wrong_key("Authorization header")
    assert body_second.json() == wrong_key("body")


async def test_a_key_of_an_inactive_user_is_refused(workspace: Workspace) -> None:
    async with workspace.records.write() as connection:
        await connection.execute(update(users).values(is_active=False))

    response = await workspace.client.get(ME)

    assert (response.status_code, response.json()) == (401, wrong_key("Authorization header"))


@pytest.mark.parametrize("content", ["{", "[]", '{"name": 1}', ""])
async def test_the_key_is_checked_before_the_body(
    shared_workspace: Workspace, content: str
) -> None:
    async with shared_workspace.client_with("phx_no") as client:
        response = await client.post("/api/projects/", content=content)

    assert (response.status_code, response.json()) == (401, wrong_key("Authorization header"))


async def test_the_project_is_checked_before_the_body(workspace: Workspace) -> None:
    neighbour = await add_neighbour(workspace.records)

    unknown = await workspace.client.patch("/api/projects/999/", content="{")
    closed = await workspace.client.patch(f"/api/projects/{neighbour.project_id}/", content="{")

    assert unknown.status_code == 404
    assert closed.status_code == 403


async def test_without_a_header_a_broken_body_comes_before_the_missing_key(
    workspace: Workspace,
) -> None:
    async with workspace.client_with(None) as client:
        response = await client.post("/api/projects/", content="{")

    assert response.status_code == 400
    assert response.json()["code"] == "parse_error"


@pytest.mark.parametrize(
    ("scopes", "method", "missing"),
    [
        (["project:read"], "GET", None),
        (["project:write"], "GET", None),
        (["*"], "PATCH", None),
        (["project:write"], "PATCH", None),
        (["project:read"], "PATCH", "project:write"),
        (["cohort:write", "feature_flag:read"], "GET", "project:read"),
        ([], "GET", "project:read"),
    ],
)
async def test_a_restricted_key_does_what_its_scopes_say(
    workspace: Workspace, scopes: Sequence[str], method: str, missing: str | None
) -> None:
    sent = {"label": "Robot", "scopes": scopes}
    key = (await workspace.client.post("/api/personal_api_keys/", json=sent)).json()["value"]

    async with workspace.client_with(key) as client:
        response = await client.request(method, CURRENT, json={"name": "x"})

    if missing is None:
        assert response.status_code == 200
    else:
        body = denied(f"API key missing required scope '{missing}'")
        assert (response.status_code, response.json()) == (403, body)


@pytest.mark.parametrize("name", ["token", "api_key"])
async def test_a_project_token_in_the_query_of_a_get_chooses_the_project(
    workspace: Workspace, name: str
) -> None:
    second = (await workspace.client.post("/api/projects/", json={"name": "Second"})).json()

    switched = await workspace.client.get(CURRENT, params={name: second["api_token"]})
    patched = await workspace.client.patch(
        CURRENT, params={name: second["api_token"]}, json={"name": "First"}
    )

    assert switched.json() == second
    assert patched.json()["id"] == workspace.made.project.id


async def test_a_wrong_project_token_in_the_query_is_refused(workspace: Workspace) -> None:
    neighbour = await add_neighbour(workspace.records)

    unknown = await workspace.client.get(CURRENT, params={"token": "phc_unknown"})
    closed = await workspace.client.get(CURRENT, params={"token": neighbour.project_token})

    assert (unknown.status_code, unknown.json()) == (401, UNKNOWN_TOKEN)
    assert (closed.status_code, closed.json()) == (
        403,
        denied("You don't have access to the project."),
    )


async def test_a_key_revoked_by_another_server_is_closed_soon(workspace: Workspace) -> None:
    member = await add_member(workspace.records, "mia")
    async with workspace.client_with(member.key) as client:
        before = await client.get(ME)
        async with workspace.records.write() as connection:
            await connection.execute(
                delete(personal_api_keys).where(personal_api_keys.c.hash == hash_key(member.key))
            )

        workspace.clock.move(seconds=CACHED_S)
        after = await client.get(ME)

    assert before.status_code == 200
    assert after.status_code == 401


@pytest.mark.every_engine
async def test_the_use_of_a_key_is_written_down_hourly(workspace: Workspace) -> None:
    seen = []
    for minutes in (0, 30, 30):
        workspace.clock.move(minutes=minutes)
        await workspace.client.get(ME)
        await workspace.authentication.write_used()
        [(used,)] = await workspace.records.fetch(select(personal_api_keys.c.last_used_at))
        seen.append(used.strftime("%H:%M"))

    assert seen == ["12:00", "12:00", "13:00"]


@pytest.mark.every_engine
async def test_a_nul_in_path_or_query_is_the_clients_mistake(workspace: Workspace) -> None:
    query = await workspace.client.get("/api/projects/?search=%00")
    path = await workspace.client.get("/api/personal_api_keys/%00/")

    assert (query.status_code, query.json()) == (
        400,
        invalid("null_characters_not_allowed", "Null characters are not allowed."),
    )
    assert path.status_code == 404


class CountedStore(ProjectStore):
    """A store that counts reads, and fails while `is_down`."""

    def __init__(self, records: Records) -> None:
        super().__init__(records)
        self.reads = 0
        self.is_down = False

    async def by_tokens(self, tokens: Sequence[str]) -> Mapping[str, Project]:
        self.reads += 1
        if self.is_down:
            raise RecordsUnavailable("down")
        return await super().by_tokens(tokens)


async def test_a_token_is_read_once_and_then_known(workspace: Workspace) -> None:
    store = CountedStore(workspace.records)
    directory = Projects(store, workspace.clock.seconds)

    project_ids = {(await directory.by_token(PROJECT_TOKEN)).id for _ in range(5)}

    assert project_ids == {workspace.made.project.id}
    assert store.reads == 1


async def test_a_junk_token_is_remembered_briefly(workspace: Workspace) -> None:
    store = CountedStore(workspace.records)
    directory = Projects(store, workspace.clock.seconds)

    for seconds in (0.0, ABSENT_S / 2, ABSENT_S / 2):
        workspace.clock.move(seconds=seconds)
        with pytest.raises(InvalidApiKey):
            await directory.by_token("phc_junk")

    assert store.reads == 2


@pytest.mark.every_engine
@pytest.mark.parametrize("token", ["", "a\0b", "é", "x" * 201, "\ud800"])
async def test_what_cannot_be_a_token_is_refused_without_a_read(
    shared_workspace: Workspace, token: str
) -> None:
    store = CountedStore(shared_workspace.records)

    with pytest.raises(InvalidApiKey):
        await Projects(store, shared_workspace.clock.seconds).by_token(token)

    assert store.reads == 0


@pytest.mark.every_engine
async def test_while_the_store_is_down_known_tokens_keep_working(workspace: Workspace) -> None:
    store = CountedStore(workspace.records)
    directory = Projects(store, workspace.clock.seconds)
    await directory.by_token(PROJECT_TOKEN)

    store.is_down = True

    assert (await directory.by_token(PROJECT_TOKEN)).id == workspace.made.project.id
    with pytest.raises(Unavailable) as refusal:
        await directory.by_token("phc_other")
    assert refusal.value.status == 503
    assert refusal.value.code == "fetch_team_fail"
    store.is_down = False
    with pytest.raises(InvalidApiKey):
        await directory.by_token("phc_other")


async def test_a_refresh_takes_over_what_another_server_changed(workspace: Workspace) -> None:
    directory = Projects(ProjectStore(workspace.records), workspace.clock.seconds)
    before = await directory.by_token(PROJECT_TOKEN)
    async with workspace.records.write() as connection:
        await connection.execute(update(projects).values(api_token="phc_rotated", name="New"))

    await directory.refresh()

    assert (await directory.by_token("phc_rotated")).name == "New"
    assert before.name == "Default project"
    with pytest.raises(InvalidApiKey):
        await directory.by_token(PROJECT_TOKEN)


@pytest.mark.every_engine
async def test_a_flood_of_junk_tokens_shares_few_reads(workspace: Workspace) -> None:
    store = CountedStore(workspace.records)
    # A thousand tokens on a busy machine may take more than the second that a request waits.
    directory = Projects(store, workspace.clock.seconds, store_wait_s=SOON_S)
    junk = [f"phc_junk-{number}" for number in range(2 * READ_KEYS_MAX)]

    answers = await asyncio.gather(
        *(directory.by_token(token) for token in (*junk, PROJECT_TOKEN, *junk)),
        return_exceptions=True,
    )

    assert [type(answer) for answer in answers].count(InvalidApiKey) == 2 * len(junk)
    assert workspace.made.project in answers
    assert store.reads == 3


class SlowKeys(PersonalKeyStore):
    """A store that returns a read only when it is released."""

    def __init__(self, records: Records) -> None:
        super().__init__(records)
        self.has_read, self.may_answer = asyncio.Event(), asyncio.Event()

    async def principals(self, hashes: Sequence[str]) -> Mapping[str, Principal]:
        principals = await super().principals(hashes)
        self.has_read.set()
        await self.may_answer.wait()
        return principals


async def test_a_key_revoked_while_it_is_looked_up_stays_closed(workspace: Workspace) -> None:
    store = SlowKeys(workspace.records)
    clock = workspace.clock
    authentication = Authentication(store, clock.now, clock.seconds)
    user_id = workspace.made.user.id
    [key], _ = await store.list_keys(user_id, 1, 0)

    early = asyncio.create_task(authentication.authenticate(OWNER_KEY, "body"))
    await store.has_read.wait()
    await authentication.revoke_key(user_id, key.id)
    late = asyncio.create_task(authentication.authenticate(OWNER_KEY, "body"))
    store.may_answer.set()

    with pytest.raises(InvalidPersonalApiKey):
        await late
    with pytest.raises(InvalidPersonalApiKey):
        await early
