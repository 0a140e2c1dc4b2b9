"""Running experiments are calculated every hour, and webhooks told when the verdict changes."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from fanion.observability.metrics import Metrics
from fanion.webhooks.client import Resolver, Sender
from fanion.webhooks.worker import Deliverer
from tests.support.application import Json, Tenant
from tests.support.experiments import PURCHASES, create, take
from tests.support.management import NOW
from tests.support.receiver import Receiver, open_receiver

CALLED = "2024-03-01T12:00:00.5Z"
BOUGHT: Json = {**PURCHASES, "metric_type": "funnel", "series": [PURCHASES["source"]]}
del BOUGHT["source"]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


async def check_at(tenant: Tenant, **later: float) -> None:
    """Set the clock to so much later than noon, check what is due, and deliver messages."""
    tenant.server.clock.time = NOW + timedelta(**later)
    while await tenant.server.running.questions.verdicts.work_once():
        pass
    sender = Sender(Resolver(), allow_private=True)
    deliverer = Deliverer(tenant.server.records, sender, Metrics(), tenant.server.clock.now)
    while await deliverer.work_once():
        pass
    await sender.close()


async def expose(tenant: Tenant, number: int, buying: dict[str, int]) -> None:
    """Let so many people see each variant, of whom so many buy."""

    def event(name: str, person: str, properties: Json) -> Json:
        return {
            "event": name,
            "distinct_id": person,
            "timestamp": CALLED,
            "properties": properties,
        }

    events: list[Json] = []
    for variant, buyers in buying.items():
        told = {"$feature_flag": "button", "$feature_flag_response": variant}
        people = [f"{variant}-{index}" for index in range(number)]
        events += [event("$feature_flag_called", person, told) for person in people]
        events += [event("purchase", person, {}) for person in people[:buyers]]
    await tenant.capture(*events)


def bodies(receiver: Receiver) -> list[Any]:
    return [request.json()["data"] for request in receiver.requests]


async def test_webhooks_are_told_when_the_verdict_changes(
    tenant: Tenant, receiver: Receiver
) -> None:
    hook = {"url": receiver.url(), "events": ["experiment.verdict"]}
    assert (await tenant.api.post("/webhooks/", json=hook)).status_code == 201
    made = await create(tenant, metrics=[BOUGHT], exposure_criteria=None)
    await take(tenant, made, "launch")

    await check_at(tenant, hours=1)
    begun = bodies(receiver)
    await expose(tenant, 500, {"control": 50, "test": 250})
    await check_at(tenant, hours=1, minutes=30)
    early = bodies(receiver)
    await check_at(tenant, days=8)
    [told] = bodies(receiver)
    await check_at(tenant, days=8, hours=2)

    assert (begun, early) == ([], [])
    results = await tenant.get(f"/experiments/{made['id']}/results/")
    assert told == {
        "project_id": tenant.project_id,
        "experiment": {"id": made["id"], "name": "Button", "feature_flag_key": "button"},
        "verdict": {
            "code": "ship",
            "variant": "test",
            "sentence": results["verdict"]["sentence"],
        },
        "former_verdict": "no_exposures",
    }
    assert len(bodies(receiver)) == 1
    [listed] = (await tenant.get("/experiments/"))["results"]
    assert listed["latest_verdict"] == {
        "code": "ship",
        "variant": "test",
        "sentence": results["verdict"]["sentence"],
        "exposures": 1000,
        "as_of": "2024-03-09T14:00:00Z",
    }

    await take(tenant, made, "reset")
    await take(tenant, made, "launch")
    assert (await tenant.get(f"/experiments/{made['id']}/"))["latest_verdict"] is None


async def test_an_experiment_that_has_ended_is_calculated_once_more(tenant: Tenant) -> None:
    made = await create(tenant)
    await take(tenant, made, "launch")
    await check_at(tenant, hours=1)
    await take(tenant, made, "end")
    due = tenant.server.running.questions.verdicts

    await check_at(tenant, hours=3)
    tenant.server.clock.time = NOW + timedelta(hours=9)

    assert await due.work_once() is False


async def test_a_draft_is_not_calculated(tenant: Tenant) -> None:
    await check_at(tenant, hours=9)  # those of other tests
    await create(tenant)

    assert await tenant.server.running.questions.verdicts.work_once() is False
