"""The stream of live events over HTTP: which events it shows to whom, and when it ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import delete

from fanion.db.schema.activity import activity_log
from fanion.db.schema.tables import memberships, projects
from fanion.events.live.stream_service import STREAMS_OF_USER_MAX, LiveEvents
from tests.actions.test_api import create
from tests.support.application import Json, Tenant, error
from tests.support.awaited import until_soon
from tests.support.management import NOW, add_member
from tests.support.sse import Message, messages

SOON_S = 60


@dataclass
class Viewer:
    """A client with an open stream."""

    answer: httpx.Response
    pieces: AsyncIterator[bytes]

    async def read(self, number: int) -> list[Message]:
        """Read a number of messages."""
        received: list[Message] = []
        while len(received) < number:
            received += messages((await anext(self.pieces)).decode())
        return received

    async def ends(self) -> bool:
        return not messages(b"".join([piece async for piece in self.pieces]).decode())


@asynccontextmanager
async def open_stream(
    tenant: Tenant, key: str = "", last: str = "", **query: str
) -> AsyncIterator[Viewer]:
    headers = {"authorization": f"Bearer {key or tenant.key}"}
    headers |= {"last-event-id": last} if last else {}
    path = f"/api/projects/{tenant.project_id}/events/stream/"
    request = tenant.public.build_request("GET", path, headers=headers, params=query)
    answer = await tenant.public.send(request, stream=True)
    assert answer.status_code == 200
    pieces = answer.aiter_raw()
    try:
        async with asyncio.timeout(SOON_S):
            assert (await anext(pieces)).startswith(b"retry: ")
            yield Viewer(answer, pieces)
    finally:
        await answer.aclose()


@pytest.fixture
def live(tenant: Tenant) -> LiveEvents:
    return tenant.server.running.live.events


def names(received: list[Message]) -> list[str]:
    return [message.data["event"] for message in received]


async def test_a_stored_event_is_shown_as_the_list_shows_it(tenant: Tenant) -> None:
    async with open_stream(tenant) as viewer:
        await tenant.capture(
            {
                "event": "paid",
                "distinct_id": "ann",
                "properties": {
                    "$set": {"email": "ann@example.com"},
                    "$groups": {"company": "acme"},
                    "$elements": [{"tag_name": "a"}],
                    "odd": "line\nend\u2028 ü",
                },
            }
        )

        [shown] = await viewer.read(1)

    [listed] = await tenant.events()
    assert shown.data == listed
    assert shown.data["properties"]["$group_0"] == "acme"
    assert shown.data["person"]["properties"] == {"email": "ann@example.com"}
    headers = viewer.answer.headers
    assert headers["content-type"].startswith("text/event-stream")
    assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store", "no")
    assert "content-encoding" not in headers


async def test_filters_show_what_fits_all_of_them(tenant: Tenant) -> None:
    await tenant.capture({"event": "seen", "distinct_id": "ann"})
    ann = (await tenant.person("ann"))["id"]
    async with (
        open_stream(tenant, event="paid") as paid,
        open_stream(tenant, distinct_id="bob") as of_bob,
        open_stream(tenant, person_id=ann) as of_ann,
        open_stream(tenant, event="paid", person_id=ann) as both,
    ):
        await tenant.capture(
            {"event": "seen", "distinct_id": "bob"},
            {"event": "paid", "distinct_id": "bob"},
            {"event": "seen", "distinct_id": "ann"},
            {"event": "paid", "distinct_id": "ann"},
        )

        assert [message.data["distinct_id"] for message in await paid.read(2)] == ["bob", "ann"]
        assert names(await of_bob.read(2)) == ["seen", "paid"]
        assert names(await of_ann.read(2)) == ["seen", "paid"]
        assert [message.data["distinct_id"] for message in await both.read(1)] == ["ann"]


async def test_an_action_shows_its_events(tenant: Tenant) -> None:
    pro = {"key": "plan", "value": "pro"}
    step = {"event": "paid", "properties": [pro]}
    action = await create(tenant, "Paid pro", step)
    async with (
        open_stream(tenant, action_id=str(action["id"])) as viewer,
        open_stream(tenant, action_id=str(action["id"]), distinct_id="bob") as of_bob,
    ):
        await tenant.capture(
            *(
                {"event": name, "distinct_id": who, "properties": {"plan": plan}}
                for who in ("ann", "bob")
                for name, plan in (("paid", "free"), ("paid", "pro"), ("seen", "pro"))
            )
        )

        shown = await viewer.read(2)
        assert [message.data["distinct_id"] for message in shown] == ["ann", "bob"]
        assert {message.data["properties"]["plan"] for message in shown} == {"pro"}
        assert [message.data["distinct_id"] for message in await of_bob.read(1)] == ["bob"]


async def test_an_action_that_a_stream_cannot_compare_is_refused(tenant: Tenant) -> None:
    person = {"key": "plan", "value": "pro", "type": "person"}
    step = {"event": "paid", "properties": [person]}
    action = await create(tenant, "Of persons", step)

    status, body = await refused(tenant, {"action_id": action["id"]})
    missing = await refused(tenant, {"action_id": 999_999})

    assert (status, body["attr"]) == (400, "action_id")
    assert body["detail"] == "The action has conditions on persons, which streams cannot compare."
    assert (missing[0], missing[1]["code"]) == (400, "action_does_not_exist")


async def test_a_long_distinct_id_is_watched_as_it_is_stored(tenant: Tenant) -> None:
    async with open_stream(tenant, distinct_id="x" * 250) as viewer:
        await tenant.capture({"event": "seen", "distinct_id": "x" * 230})

        assert names(await viewer.read(1)) == ["seen"]


async def test_events_of_a_merged_distinct_id_are_those_of_the_surviving_person(
    tenant: Tenant,
) -> None:
    await tenant.capture({"event": "seen", "distinct_id": "ann"})
    async with open_stream(tenant, person_id=(await tenant.person("ann"))["id"]) as viewer:
        await tenant.capture(
            {
                "event": "$identify",
                "distinct_id": "ann",
                "properties": {"$anon_distinct_id": "device"},
            },
            {"event": "paid", "distinct_id": "device"},
        )

        assert names(await viewer.read(2)) == ["$identify", "paid"]


async def test_ids_are_places_in_the_log_and_a_stream_goes_on_behind_one(tenant: Tenant) -> None:
    async with open_stream(tenant) as viewer:
        await tenant.capture({"event": "a", "distinct_id": "x"}, {"event": "b", "distinct_id": "x"})
        first = await viewer.read(2)
    await tenant.capture({"event": "c", "distinct_id": "x"})

    async with open_stream(tenant, last=first[0].id) as viewer:
        again = await viewer.read(2)

    assert names(again) == ["b", "c"]
    assert again[0].id == first[1].id
    logged = [tuple(map(int, message.id.split("-"))) for message in (*first, again[1])]
    assert logged == sorted(logged)
    assert [number for _, number in logged] == [0, 1, 0]


async def test_after_a_place_that_is_not_kept_the_gap_is_told(tenant: Tenant) -> None:
    async with open_stream(tenant, last="17-3") as viewer:
        await tenant.capture({"event": "a", "distinct_id": "x"})

        received = await viewer.read(2)

    assert received[0] == Message("skipped", "", {"events": None, "reason": "reconnected"})
    assert names(received[1:]) == ["a"]


async def test_other_projects_and_imports_are_not_shown(tenant: Tenant) -> None:
    async with open_stream(tenant) as viewer:
        await tenant.capture({"event": "old", "distinct_id": "x"}, historical_migration=True)
        await tenant.capture({"event": "new", "distinct_id": "x"})

        assert names(await viewer.read(1)) == ["new"]


async def test_what_is_dropped_is_not_shown(tenant: Tenant) -> None:
    async with open_stream(tenant) as viewer:
        await tenant.capture({"event": "nobody"}, {"event": "kept", "distinct_id": "x"})

        assert names(await viewer.read(1)) == ["kept"]


async def test_a_large_event_is_counted(tenant: Tenant) -> None:
    async with open_stream(tenant) as viewer:
        await tenant.capture(
            {"event": "large", "distinct_id": "x", "properties": {"a": "x" * 2**20}},
            {"event": "small", "distinct_id": "x"},
        )

        received = await viewer.read(2)

    assert names(received[:1]) == ["small"]
    assert received[1] == Message("skipped", "", {"events": 1, "reason": "too_large"})


async def test_nothing_is_kept_before_a_stream_is_open(tenant: Tenant, live: LiveEvents) -> None:
    await tenant.capture({"event": "a", "distinct_id": "x"})

    assert (live.filters(tenant.project_id), live.streams) == ((), 0)
    async with open_stream(tenant):
        assert await tenant.server.metric("fanion_event_streams") == 1


# ── Refusals ─────────────────────────────────────────────────────────────────────────────


async def refused(tenant: Tenant, query: Any, key: str = "") -> Any:
    headers = {"authorization": f"Bearer {key or tenant.key}"}
    path = f"/api/projects/{tenant.project_id}/events/stream/"
    answer = await tenant.public.get(path, params=query, headers=headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("query", "code", "attr"),
    [
        ({"person_id": "ann"}, "invalid_input", "person_id"),
        ({"person_id": ""}, "invalid_input", "person_id"),
        ({"event": ""}, "blank", "event"),
        ({"distinct_id": ""}, "blank", "distinct_id"),
        ({"event": "x" * 201}, "max_length", "event"),
        ([("event", "a"), ("event", "b")], "invalid_input", "event"),
        ({"events": "a"}, "invalid_input", "events"),
    ],
)
async def test_a_filter_that_cannot_be_meant_is_refused(
    tenant: Tenant, query: Any, code: str, attr: str
) -> None:
    status, body = await refused(tenant, query)

    assert (status, body["type"], body["code"], body["attr"]) == (
        400,
        "validation_error",
        code,
        attr,
    )


async def test_a_key_needs_the_scope(tenant: Tenant) -> None:
    async with tenant.server.client(tenant.key) as client:
        made = await client.post(
            "/api/personal_api_keys/", json={"label": "x", "scopes": ["person:read"]}
        )

    assert await refused(tenant, {}, made.json()["value"]) == (
        403,
        error(
            "authentication_error",
            "permission_denied",
            "API key missing required scope 'event:read'",
        ),
    )


async def test_a_user_has_so_many_streams_at_most(tenant: Tenant, live: LiveEvents) -> None:
    async with asyncio.TaskGroup() as group:
        done = asyncio.Event()

        async def look() -> None:
            async with open_stream(tenant):
                await done.wait()

        for _ in range(STREAMS_OF_USER_MAX):
            group.create_task(look())

        async def all_look() -> bool:
            return live.streams == STREAMS_OF_USER_MAX

        await until_soon(all_look, "the streams are not open")
        refusal = await refused(tenant, {})
        done.set()

    detail = f"{STREAMS_OF_USER_MAX} event streams are already open for you."
    assert refusal == (429, error("throttled_error", "too_many_streams", detail))


async def test_head_is_answered_without_a_stream(tenant: Tenant, live: LiveEvents) -> None:
    answer = await tenant.api.head("/events/stream/")

    assert (answer.status_code, answer.content, live.streams) == (200, b"", 0)


# ── Ends ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def frequent_checks(live: LiveEvents) -> AsyncIterator[None]:
    """Check access often, for changes that only the regular check, every 3 s, notices."""

    async def check() -> None:
        while True:
            await asyncio.sleep(0.05)
            live.check_access()

    task = asyncio.create_task(check())
    yield
    task.cancel()


async def key_of(tenant: Tenant, **more: Any) -> Json:
    """Create another personal key of the owner."""
    async with tenant.server.client(tenant.key) as client:
        made: Json = (
            await client.post("/api/personal_api_keys/", json={"label": "live", **more})
        ).json()
    return made


async def test_a_stream_ends_when_its_key_is_revoked(tenant: Tenant) -> None:
    made = await key_of(tenant)
    async with (
        open_stream(tenant, made["value"]) as viewer,
        tenant.server.client(tenant.key) as client,
    ):
        await client.delete(f"/api/personal_api_keys/{made['id']}/")

        assert await viewer.ends()


@pytest.mark.usefixtures("frequent_checks")
async def test_a_stream_ends_when_its_key_expires(tenant: Tenant) -> None:
    made = await key_of(tenant, expires_at=(NOW + timedelta(hours=1)).isoformat())
    async with open_stream(tenant, made["value"]) as viewer:
        tenant.server.clock.move(hours=1)

        assert await viewer.ends()


# It takes seconds: rights are kept for two.
@pytest.mark.usefixtures("frequent_checks")
async def test_a_stream_ends_when_the_user_leaves_the_organization(tenant: Tenant) -> None:
    name = f"mia-{tenant.project_id}"
    member = await add_member(tenant.server.records, name, organization_id=tenant.organization_id)
    async with open_stream(tenant, member.key) as viewer:
        async with tenant.server.records.write() as connection:
            await connection.execute(
                delete(memberships).where(memberships.c.user_id == member.user_id)
            )

        assert await viewer.ends()


@pytest.mark.usefixtures("frequent_checks")
async def test_a_stream_ends_when_the_project_is_gone(tenant: Tenant) -> None:
    other = (await tenant.api.post("http://fanion.test/api/projects/", json={"name": "x"})).json()
    async with open_stream(replace(tenant, project_id=other["id"])) as viewer:
        async with tenant.server.records.write() as connection:
            await connection.execute(
                delete(activity_log).where(activity_log.c.project_id == other["id"])
            )
            await connection.execute(delete(projects).where(projects.c.id == other["id"]))
        await tenant.server.running.public.flags.projects.refresh()

        assert await viewer.ends()


@pytest.mark.usefixtures("frequent_checks")
async def test_a_stream_goes_on_while_its_key_does(tenant: Tenant) -> None:
    made, other = await key_of(tenant, scopes=["event:read"]), await key_of(tenant)
    async with (
        open_stream(tenant, made["value"]) as viewer,
        tenant.server.client(tenant.key) as client,
    ):
        await client.delete(f"/api/personal_api_keys/{other['id']}/")
        await tenant.capture({"event": "a", "distinct_id": "x"})

        assert names(await viewer.read(1)) == ["a"]
