"""Deliveries in the records store: written with their change, sent by one server, bounded."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, insert, select

from fanion.activity.model import Author
from fanion.db.engine import Records, open_records
from fanion.db.schema.tables import organizations, projects
from fanion.db.schema.webhooks import webhook_deliveries
from fanion.errors import Invalid, NotFound
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import FlagStore
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus
from fanion.webhooks.model import ATTEMPTS_MAX, EVENT_TYPES, DeliveryOutcome, Webhook
from fanion.webhooks.outbox_store import PENDING_MAX, enqueue
from fanion.webhooks.queue_store import (
    FINISHED_MAX,
    LEASE,
    PROJECT_SENDING_MAX,
    Claim,
    DeliveriesInFlight,
    DeliveryQueue,
)
from fanion.webhooks.service import WebhookService
from fanion.webhooks.store import WEBHOOKS_MAX, WebhookStore

pytestmark = pytest.mark.every_engine

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
PROJECT = Project(1, uuid4(), uuid4(), "p", "phc", "UTC", NOW)
AUTHOR = Author(
    project_id=PROJECT.id, organization_id=PROJECT.organization_id, user_id=None, now=NOW
)
NOTHING = DeliveriesInFlight((), {})
DONE = DeliveryOutcome(204)


@pytest.fixture
async def others(records: Records, records_url: str) -> AsyncIterator[Records]:
    """Provide the records store of a second server, on the same database."""
    store = await open_records(records_url)
    yield store
    await store.close()


def webhook_service(records: Records) -> WebhookService:
    return WebhookService(WebhookStore(records), allow_private=False)


async def create(records: Records, project_id: int = 1, **values: Any) -> Webhook:
    project = Project(project_id, uuid4(), uuid4(), "p", "phc", "UTC", NOW)
    author = Author(
        project_id=project.id, organization_id=project.organization_id, user_id=None, now=NOW
    )
    given = {"url": "https://a.example/", "events": list(EVENT_TYPES), "active": True, **values}
    made, _ = await webhook_service(records).create_webhook(author, given)
    return made


async def publish_change(
    records: Records, project_id: int = 1, now: datetime = NOW, times: int = 1
) -> None:
    async with records.write() as connection:
        for _ in range(times):
            await connection.run_sync(
                enqueue, project_id, "feature_flag.updated", lambda: b"{}", now
            )


async def create_flag(records: Records, key: str) -> None:
    values = {
        "key": key,
        "name": "",
        "filters": {},
        "deleted": False,
        "active": True,
        "created_at": NOW,
        "tags": [],
        "analytics_dashboards": [],
        "has_enriched_analytics": False,
    }
    await FlagService(FlagStore(records), ChangeBus()).create_flag(AUTHOR, values)


async def claim(records: Records, now: datetime = NOW, limit: int = 100) -> Sequence[Claim]:
    return await DeliveryQueue(records).claim_deliveries(now, NOTHING, limit)


async def listed(records: Records, webhook: Webhook) -> list[tuple[str, int, str | None]]:
    """Return status, attempts and error of each delivery, newest first."""
    rows, _ = await WebhookStore(records).deliveries(webhook.project_id, webhook.id, 10_000, 0)
    return [(delivery.status, delivery.attempts, delivery.error) for delivery in rows]


async def test_a_delivery_is_written_with_its_change_or_not_at_all(records: Records) -> None:
    webhook = await create(records)
    await create_flag(records, "a")
    with pytest.raises(Invalid):
        await create_flag(records, "a")

    assert await listed(records, webhook) == [("pending", 0, None)]


async def test_only_subscribed_webhooks_are_notified(records: Records) -> None:
    subscribed = await create(records, events=["feature_flag.updated"])
    unwanted = await create(records, events=["feature_flag.created"])
    inactive = await create(records, active=False)
    elsewhere = await create(records, project_id=2)

    await publish_change(records)

    numbers = [
        len(await listed(records, webhook))
        for webhook in (subscribed, unwanted, inactive, elsewhere)
    ]
    assert numbers == [1, 0, 0, 0]


async def test_a_delivery_is_claimed_by_one_server(records: Records, others: Records) -> None:
    for _ in range(5):
        await create(records)
    await publish_change(records)

    claims = await asyncio.gather(*(claim(store) for store in (records, others) * 3))

    ids = [delivery.id for some in claims for delivery in some]
    assert len(ids) == len(set(ids)) == 5
    assert await claim(others, NOW + LEASE - timedelta(seconds=1)) == []


async def test_what_a_dead_server_held_is_taken_over_and_its_word_no_longer_counts(
    records: Records,
) -> None:
    webhook = await create(records)
    await publish_change(records)
    [dead] = await claim(records)

    [heir] = await claim(records, NOW + LEASE)
    await DeliveryQueue(records).finish(dead, DeliveryOutcome(500, "late"), NOW + LEASE)
    between = await listed(records, webhook)
    await DeliveryQueue(records).finish(heir, DONE, NOW + LEASE)

    assert (heir.id, heir.message_id, heir.attempt) == (dead.id, dead.message_id, 2)
    assert between == [("pending", 2, None)]
    assert await listed(records, webhook) == [("delivered", 2, None)]


async def test_a_failure_is_tried_again_ever_later_and_then_given_up(records: Records) -> None:
    webhook = await create(records)
    await publish_change(records)
    work, now, times = DeliveryQueue(records), NOW, []

    while claims := await claim(records, now):
        times.append(now)
        await work.finish(claims[0], DeliveryOutcome(503, "busy"), now)
        [delivery], _ = await WebhookStore(records).deliveries(1, webhook.id, 1, 0)
        now = delivery.due_at or now + timedelta(days=30)

    waits = [later - earlier for earlier, later in pairwise(times)]
    assert len(times) == ATTEMPTS_MAX
    assert waits == sorted(set(waits))
    assert await listed(records, webhook) == [("failed", ATTEMPTS_MAX, "busy")]


async def test_a_final_failure_is_given_up_at_once(records: Records) -> None:
    webhook = await create(records)
    await publish_change(records)
    [delivery_claim] = await claim(records)

    await DeliveryQueue(records).finish(
        delivery_claim, DeliveryOutcome(error="no", is_final=True), NOW
    )

    assert await listed(records, webhook) == [("failed", 1, "no")]


async def test_what_is_released_is_due_at_once(records: Records) -> None:
    await create(records)
    await publish_change(records)
    [delivery_claim] = await claim(records)

    await DeliveryQueue(records).release(delivery_claim, NOW)

    [again] = await claim(records)
    assert (again.id, again.attempt) == (delivery_claim.id, 2)


async def test_a_receiver_is_sent_one_at_a_time_and_a_project_a_few(records: Records) -> None:
    many = [await create(records) for _ in range(PROJECT_SENDING_MAX + 3)]
    other = await create(records, project_id=2)
    await publish_change(records, times=2)
    await publish_change(records, project_id=2, now=NOW + timedelta(seconds=1))
    later = NOW + timedelta(seconds=2)

    first = await claim(records, later)
    sending = DeliveriesInFlight(
        [delivery.webhook_id for delivery in first], {1: PROJECT_SENDING_MAX, 2: 1}
    )
    none = await DeliveryQueue(records).claim_deliveries(later, sending, 100)
    room = DeliveriesInFlight([many[0].id, other.id], {1: PROJECT_SENDING_MAX - 1, 2: 1})
    one = await DeliveryQueue(records).claim_deliveries(later, room, 100)

    of_projects = [delivery.project_id for delivery in first]
    assert (of_projects.count(1), of_projects.count(2)) == (PROJECT_SENDING_MAX, 1)
    assert len({delivery.webhook_id for delivery in first}) == len(first)
    assert none == []
    assert len(one) == 1 and one[0].webhook_id != many[0].id


async def test_the_oldest_of_a_receiver_goes_first(records: Records) -> None:
    await create(records)
    await publish_change(records, times=3)
    order = []

    while claims := await claim(records):
        order += [delivery_claim.id for delivery_claim in claims]
        await DeliveryQueue(records).finish(claims[0], DONE, NOW)

    assert len(order) == 3
    assert order == sorted(order)


async def test_what_is_over_is_listed_for_a_while_and_holds_no_body(records: Records) -> None:
    webhook = await create(records)
    await publish_change(records, times=FINISHED_MAX + 5)
    finishing = DeliveryQueue(records)

    while claims := await claim(records):
        await finishing.finish(claims[0], DONE, NOW)

    assert len(await listed(records, webhook)) == FINISHED_MAX
    async with records.read() as connection:
        bytes_stored = await connection.scalar(
            select(func.sum(func.length(webhook_deliveries.c.body)))
        )
    assert bytes_stored == 0


async def test_a_receiver_that_is_away_collects_only_so_much(records: Records) -> None:
    webhook = await create(records)
    await publish_change(records, times=PENDING_MAX)

    await publish_change(records)

    newest, *_ = await listed(records, webhook)
    assert newest == ("failed", 0, f"Not sent: {PENDING_MAX} deliveries were waiting.")
    assert [status for status, *_ in await listed(records, webhook)].count("pending") == PENDING_MAX


async def test_a_webhook_that_is_switched_off_gives_up_what_waits(records: Records) -> None:
    webhook = await create(records)
    await publish_change(records)
    [under_way] = await claim(records)
    await publish_change(records)

    await webhook_service(records).change_webhook(AUTHOR, webhook.id, {"active": False})
    await DeliveryQueue(records).finish(under_way, DONE, NOW)
    await publish_change(records)
    await webhook_service(records).change_webhook(AUTHOR, webhook.id, {"active": True})

    reported = "Not sent: the webhook was deactivated."
    assert await listed(records, webhook) == [("failed", 0, reported), ("failed", 1, reported)]
    assert await claim(records, NOW + LEASE) == []


async def test_a_new_url_and_what_waits(records: Records) -> None:
    webhook = await create(records)
    await publish_change(records)

    await webhook_service(records).change_webhook(AUTHOR, webhook.id, {"url": "https://b.example/"})

    [delivery_claim] = await claim(records)
    assert delivery_claim.url == "https://b.example/"


async def test_removing_a_webhook_while_changes_are_queued_fails_no_change(
    records: Records, others: Records
) -> None:
    webhooks = [await create(records) for _ in range(5)]
    await publish_change(records)
    claims = await claim(records)

    await asyncio.gather(
        *(create_flag(others, f"flag-{number}") for number in range(5)),
        *(webhook_service(records).remove_webhook(AUTHOR, webhook.id) for webhook in webhooks),
        *(DeliveryQueue(others).finish(claim, DONE, NOW) for claim in claims),
    )

    async with records.read() as connection:
        left = await connection.scalar(select(func.count()).select_from(webhook_deliveries))
    assert left == 0
    with pytest.raises(NotFound):
        await webhook_service(records).remove_webhook(AUTHOR, webhooks[0].id)


async def test_a_project_has_only_so_many_webhooks(records: Records, others: Records) -> None:
    await create_project(records)
    for _ in range(WEBHOOKS_MAX - 1):
        await create(records)

    made = await asyncio.gather(create(records), create(others), return_exceptions=True)

    assert sum(isinstance(result, Webhook) for result in made) == 1
    [refused] = [result for result in made if isinstance(result, BaseException)]
    assert str(refused) == "A project can have at most 20 webhooks."


async def create_project(records: Records) -> None:
    row = {
        "id": 1,
        "uuid": uuid4(),
        "organization_id": uuid4(),
        "name": "p",
        "api_token": "phc_1",
        "timezone": "UTC",
        "created_at": NOW,
    }
    organization = {"id": row["organization_id"], "name": "o", "created_at": NOW}
    async with records.write() as connection:
        await connection.execute(insert(organizations).values(**organization))
        await connection.execute(insert(projects).values(**row))
