"""Experiments in several states."""

from datetime import UTC, datetime, timedelta

from tests.console.hostile import MARKUP
from tests.console.project import Json, Project

DAYS = 9


def make_experiments(project: Project) -> dict[str, Json]:
    """Return experiments by their state."""
    started = datetime.now(UTC) - timedelta(days=DAYS, hours=1)
    return {
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


def _paid() -> Json:
    series = [{"kind": "EventsNode", "event": "paid"}]
    return {"kind": "ExperimentMetric", "metric_type": "funnel", "series": series}
