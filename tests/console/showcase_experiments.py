"""Experiments in several states."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import update

from fanion.db.schema.experiments import experiments
from tests.console.hostile import MARKUP
from tests.console.project import Json, Project

DAYS = 9


def make_experiments(project: Project) -> dict[str, Json]:
    """Return experiments by their state."""
    started = datetime.now(UTC) - timedelta(days=DAYS, hours=1)
    made = {
        "running": project.post(
            "/experiments/",
            name="Which checkout sells more",
            description="One page, or step by step.",
            feature_flag_key="checkout-layout",
            start_date=started.isoformat(),
            metrics=[_paid()],
        ),
        "draft": project.post(
            "/experiments/",
            name=f"{MARKUP} and a name that goes on and on",
            description=MARKUP,
            feature_flag_key="price-page",
            metrics=[_paid() | {"name": MARKUP}],
        ),
    }
    add_verdict(project, made["running"], "Not decided: between −27.6 % and +68.8 %.", 412)
    return made


def _paid() -> Json:
    series = [{"kind": "EventsNode", "event": "paid"}]
    return {"kind": "ExperimentMetric", "metric_type": "funnel", "series": series}


def add_verdict(project: Project, experiment: Json, sentence: str, exposures: int) -> None:
    """Store a verdict as the hourly calculation does."""
    values = {"verdict": "wait", "verdict_sentence": sentence, "verdict_exposures": exposures}
    with project.records() as connection:
        this = update(experiments).where(experiments.c.id == experiment["id"])
        connection.execute(this.values(**values, checked_at=datetime.now(UTC)))
