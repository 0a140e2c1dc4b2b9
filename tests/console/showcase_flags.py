"""Flags of all kinds."""

from datetime import UTC, datetime, timedelta

from tests.console.hostile import MARKUP
from tests.console.project import Json, Project, has, when
from tests.support import plain_http

VARIANTS = [
    {"key": "control", "name": "As it is", "rollout_percentage": 34},
    {"key": "short", "name": "One page", "rollout_percentage": 33},
    {"key": "guided", "name": "Step by step", "rollout_percentage": 33},
]
FAILING: Json = {
    "threshold": 20,
    "threshold_type": "insight",
    "operator": "gt",
    "threshold_metric": {"insight": "TRENDS", "events": [{"id": "checkout failed"}]},
}


def make_flags(project: Project, cohorts: dict[str, Json], people: list[str]) -> dict[str, Json]:
    in_cohort: Json = {"type": "cohort", "key": "id", "value": cohorts["paying"]["id"]}
    made = [
        project.flag(
            "new-checkout",
            when(has("plan", ["pro"]), rollout=20),
            when(has("country", ["Germany", "France"]), has("seats", "10", "gt"), rollout=50),
            when(rollout=5),
            name="The checkout on one page",
            tags=["checkout", "q3"],
        ),
        project.flag("dark-mode", name="Dark colours", tags=["design"]),
        project.flag("checkout-layout", name="Which checkout sells more", filters=_layout()),
        project.flag("beta-search", when(in_cohort, rollout=100), name="Search as you type"),
        project.flag(
            "company-dashboard",
            when(has("size", "50", "gt", "group") | {"group_type_index": 0}),
            filters={"aggregation_group_type_index": 0},
        ),
        project.flag("risky-payment", when(rollout=30), rollback_conditions=[FAILING]),
        project.flag("gradual", when(rollout=10), name="More people every day"),
        project.flag("old-banner", active=False, name="Banner of last spring"),
        project.flag("sticky", when(rollout=50), ensure_experience_continuity=True),
        project.flag("for-browsers", evaluation_runtime="client", tags=["design"]),
        project.flag(
            "a-key-that-is-as-long-as-keys-of-a-team-that-writes-sentences",
            when(has("name", MARKUP, "icontains"), rollout=1),
            name=f"{MARKUP} and then a description that goes on and on " * 3,
            tags=["long", "hostile", "<b>tag</b>"],
        ),
    ]
    flags = {flag["key"]: flag for flag in made}
    flags["dependent"] = project.flag("dependent", when(_on(flags["beta-search"]), rollout=100))
    _schedule(project, flags["gradual"])
    _release(project, flags["risky-payment"])
    _change(project, flags["new-checkout"])
    _evaluate(project, people)
    return flags


def _layout() -> Json:
    payloads = {"short": '{"steps": 1}', "guided": '{"steps": 4, "help": true}'}
    return {"multivariate": {"variants": VARIANTS}, "payloads": payloads}


def _on(flag: Json) -> Json:
    return has(str(flag["id"]), True, "flag_evaluates_to", "flag")


def _schedule(project: Project, flag: Json) -> None:
    tomorrow = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=1)
    steps = [
        {"scheduled_at": (tomorrow + timedelta(days=number)).isoformat(), "value": value}
        for number, value in enumerate((25, 50, 100))
    ]
    payload = {"operation": "update_rollout_percentage", "steps": steps}
    project.post(f"/feature_flags/{flag['id']}/scheduled_changes/", payload=payload)


def _release(project: Project, flag: Json) -> None:
    """Start a guarded release that nobody has been compared in."""
    common = {"kind": "ExperimentMetric", "goal": "decrease"}
    failed = {"kind": "EventsNode", "event": "checkout failed"}
    project.post(
        f"/feature_flags/{flag['id']}/guarded_release/",
        steps=[{"rollout_percentage": 50, "hold_minutes": 1440}, {"rollout_percentage": 100}],
        metrics=[
            {**common, "metric_type": "funnel", "series": [failed], "tolerance": 0.05},
            {**common, "metric_type": "mean", "source": failed, "name": MARKUP},
        ],
    )


def _change(project: Project, flag: Json) -> None:
    """Change a flag, so that its activity has something to show and to restore."""
    path = f"/feature_flags/{flag['id']}/"
    groups = flag["filters"]["groups"]
    project.patch(path, filters=flag["filters"] | {"groups": groups[:2]})
    project.patch(path, name="One page for the whole checkout", active=False)
    project.patch(path, filters=flag["filters"], active=True)


def _asked_at(number: int) -> datetime:
    """Return a time in the last week; not all of them are at one time of the day."""
    return datetime.now(UTC) - timedelta(days=number % 7, minutes=3 * number)


def _evaluate(project: Project, people: list[str]) -> None:
    with plain_http.Client(base_url=project.server.url, timeout=60) as client:
        for name in people[:40]:
            body = {"token": project.token, "distinct_id": name}
            assert client.post("/flags/?v=2", json=body).is_success
    project.capture(
        *(
            {
                "event": "$feature_flag_called",
                "distinct_id": name,
                "properties": {"$feature_flag": key, "$feature_flag_response": number % 3 == 0},
                "timestamp": _asked_at(number).isoformat(),
            }
            for number, name in enumerate(people)
            for key in ("new-checkout", "dark-mode")
        ),
    )
