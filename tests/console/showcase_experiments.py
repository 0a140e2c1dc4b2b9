"""Experiments in several states."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from sqlalchemy import update

from fanion.db.schema.experiments import experiments
from tests.console.hostile import MARKUP
from tests.console.project import Json, Project

DAYS = 9
VISITORS = 600
# The chance that a visitor with a variant orders, and the usual amount.
ORDERS = {"control": (0.22, 40), "short": (0.5, 44), "guided": (0.25, 39)}
VARIANTS = tuple(ORDERS)
REFUNDED = 0.1


def make_experiments(project: Project) -> dict[str, Json]:
    """Return experiments by their state."""
    started = datetime.now(UTC) - timedelta(days=DAYS, hours=1)
    project.capture(*_visits(random.Random(36), started))
    made = {
        "running": project.post(
            "/experiments/",
            name="Which checkout sells more",
            description="One page, or step by step.",
            feature_flag_key="checkout-layout",
            start_date=started.isoformat(),
            parameters={"recommended_sample_size": 900},
            metrics=[_done("order placed", name="Orders")],
            metrics_secondary=[_spent()],
            guardrail_metrics=[_done("order refunded", name="Refunds", goal="decrease")],
        ),
        "draft": project.post(
            "/experiments/",
            name=f"{MARKUP} and a name that goes on and on",
            description=MARKUP,
            feature_flag_key="price-page",
            metrics=[_done("paid", name=MARKUP)],
        ),
    }
    found = project.get(f"/experiments/{made['running']['id']}/results/")
    sentence = found["verdict"]["sentence"]
    add_verdict(project, made["running"], sentence, found["exposures"]["total"])
    return made


def _visits(chance: random.Random, started: datetime) -> Iterator[Json]:
    """Yield what visitors without a profile did, who were given a variant each."""
    for number in range(VISITORS):
        variant = VARIANTS[number % len(VARIANTS)]
        at = started + timedelta(minutes=chance.randrange(DAYS * 24 * 60))
        yield _event(number, "$feature_flag_called", at, **_call(variant))
        if number % 97 == 0:  # two devices
            yield _event(number, "$feature_flag_called", at, **_call(VARIANTS[0]))
        buys, amount = ORDERS[variant]
        if chance.random() < buys:
            spent = round(chance.lognormvariate(0, 0.4) * amount, 2)
            yield _event(number, "order placed", at + timedelta(minutes=9), amount=spent)
            if chance.random() < REFUNDED:
                yield _event(number, "order refunded", at + timedelta(minutes=50))


def _call(variant: str) -> Json:
    return {"$feature_flag": "checkout-layout", "$feature_flag_response": variant}


def _event(visitor: int, name: str, at: datetime, **properties: object) -> Json:
    return {
        "event": name,
        "distinct_id": f"checkout-visitor-{visitor}",
        "timestamp": at.isoformat(),
        "properties": {"$process_person_profile": False, **properties},
    }


def _done(event: str, **fields: str) -> Json:
    series = [{"kind": "EventsNode", "event": event}]
    return {"kind": "ExperimentMetric", "metric_type": "funnel", "series": series, **fields}


def _spent() -> Json:
    source = {
        "kind": "EventsNode",
        "event": "order placed",
        "math": "sum",
        "math_property": "amount",
    }
    return {
        "kind": "ExperimentMetric",
        "metric_type": "mean",
        "name": "Spent per visitor",
        "source": source,
    }


def add_verdict(project: Project, experiment: Json, sentence: str, exposures: int) -> None:
    """Store a verdict as the hourly calculation does."""
    values = {"verdict": "wait", "verdict_sentence": sentence, "verdict_exposures": exposures}
    with project.records() as connection:
        this = update(experiments).where(experiments.c.id == experiment["id"])
        connection.execute(this.values(**values, checked_at=datetime.now(UTC)))
