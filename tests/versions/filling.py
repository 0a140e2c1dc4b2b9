"""A small data folder with one of each thing.

It is made only through the HTTP API, so that every version of the server can make it.
"""

import time
from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.awaited import until
from tests.support.batch_exports import BATCH_EXPORT

Json = dict[str, Any]

MERGED: list[Json] = [
    {"event": "$identify", "distinct_id": "ann", "properties": {"$anon_distinct_id": "anon-1"}},
    {"event": "$create_alias", "distinct_id": "ann", "properties": {"alias": "ann@work"}},
    {
        "event": "$merge_dangerously",
        "distinct_id": "bob",
        "properties": {"alias": "bob-old", "$set_once": {"first": "yes"}},
    },
]
# Answered by 200 while the event store could not be opened; they lie in the accept log.
WAITING: list[Json] = [
    {"event": "waited", "distinct_id": f"late-{number}", "timestamp": "2024-02-03T00:00:00Z"}
    for number in range(3)
]


@dataclass(frozen=True)
class Filling:
    """The requests that fill a project.

    Attributes:
        client: Has a personal key of the owner, and the address of the server.
    """

    client: httpx.Client
    project_id: int
    token: str

    def send(self, method: str, path: str, **sent: Any) -> Json:
        """Send a request, to the project's API unless the path begins with /api."""
        place = path if path.startswith("/api/") else f"/api/projects/{self.project_id}{path}"
        answer = self.client.request(method, place, **sent)
        assert answer.status_code in (200, 201, 202), f"{method} {place}: {answer.text}"
        found: Json = answer.json()
        return found

    def post(self, path: str, **sent: Any) -> Json:
        return self.send("POST", path, json=sent)

    def capture(self, *items: Json) -> None:
        body = {"api_key": self.token, "batch": list(items)}
        answer = self.client.post("/batch/", json=body)
        assert (answer.status_code, answer.json()) == (200, {"status": 1}), answer.text

    def fill(self) -> str:
        """The project's secret key."""
        self._capture_everything()
        cohorts = self._make_cohorts()
        board = self._make_insights(cohorts)
        self._make_flags(cohorts, board)
        self._make_experiment()
        self._manage()
        # An anonymous visitor keeps a flag after signing in.
        body = {"token": self.token, "distinct_id": "ann", "$anon_distinct_id": "anon-1"}
        assert self.client.post("/flags/?v=2", json=body).status_code == 200
        self._await_calculation()
        secret = self.post("/secret_key/")["secret_api_key"]
        return str(secret)

    def _capture_everything(self) -> None:
        group = {"$group_type": "company", "$group_key": "acme", "$group_set": {"size": 12}}
        self.capture(
            *(_seen(name, number) for number, name in enumerate(("anon-1", "bob", "bob-old"))),
            {"event": "$groupidentify", "distinct_id": "ann", "properties": group},
            {"event": "$groupidentify", "distinct_id": "ann",
             "properties": {"$group_type": "team", "$group_key": "red"}},
        )  # fmt: skip
        self.capture(*(item | {"timestamp": "2024-02-02T00:00:00Z"} for item in MERGED))
        self.capture(
            *(_seen(name, 40 + number) for number, name in enumerate(("ann", "bob", "cid"))),
            {
                "event": "paid",
                "distinct_id": "ann",
                "timestamp": "2024-02-02T10:00:00Z",
                "properties": _BOUGHT,
                "$set": {"plan": "pro", "email": "ann@corp.example"},
            },
        )  # fmt: skip
        # So that the definition of what waits in the log has its id by then.
        self.capture(WAITING[0] | {"distinct_id": "cid"})
        # Drops: they are in the ledger, and nowhere else.
        self.capture({"event": "", "distinct_id": "ann"}, {"event": "nobody"})
        self._await_events(12)

    def _make_cohorts(self) -> dict[str, int]:
        def made(name: str, *leaves: Json, **sent: Any) -> int:
            tree = {"properties": {"type": "AND", "values": list(leaves)}}
            return int(self.post("/cohorts/", name=name, filters=tree, **sent)["id"])

        form = {"name": "friends", "is_static": "true"}
        files = {"csv": ("members.csv", "ann\nbob", "text/csv")}
        friends = int(self.send("POST", "/cohorts/", data=form, files=files)["id"])
        plan = {"type": "person", "key": "plan", "value": ["pro"], "operator": "exact"}
        paying = made("paying", plan, description="They pay.")
        did = {
            "type": "behavioral",
            "key": "paid",
            "event_type": "events",
            "value": "performed_event",
            "explicit_datetime": "2024-01-01",
        }
        buyers = made("buyers", did)
        both = made("both", _in_cohort(paying), _in_cohort(buyers))
        gone = made("gone", plan)
        self.send("PATCH", f"/cohorts/{gone}/", json={"deleted": True})
        self._await_calculation()
        return {"friends": friends, "paying": paying, "buyers": buyers, "both": both}

    def _make_insights(self, cohorts: dict[str, int]) -> int:
        board = int(self.post("/dashboards/", name="Overview", tags=["Weekly"])["id"])
        filters = {
            "insight": "TRENDS",
            "events": [{"id": "seen", "type": "events"}],
            "date_from": "2024-01-28",
            "date_to": "2024-02-05",
            "properties": [_in_cohort(cohorts["friends"])],
        }
        made = self.post("/insights/", name="Seen", filters=filters, tags=["Weekly"], saved=True)
        self.send("PATCH", f"/insights/{made['id']}/", json={"dashboards": [board]})
        self.post("/insights/", name="Kept", filters={"insight": "PATHS"})
        query = {
            "kind": "FunnelsQuery",
            "series": [{"kind": "EventsNode", "event": name} for name in ("seen", "paid")],
            "dateRange": {"date_from": "2024-01-28", "date_to": "2024-02-05"},
        }
        self.post("/insights/", name="Bought", query=query, saved=True, dashboards=[board])
        seen = int(made["id"])
        alert: Json = {"name": "Many", "insight": seen, "condition": "above", "threshold": 100}
        alert["enabled"] = False  # so that it is never checked, and stays as it is
        self.post("/alerts/", **alert)
        note: Json = {"content": "Released", "date_marker": "2024-02-01T09:00:00Z"}
        self.post("/annotations/", **note, scope="dashboard_item", dashboard_item=seen)
        is_paying = [{"type": "person", "key": "plan", "value": "pro", "operator": "exact"}]
        self.post("/segments/", name="Paying", properties=is_paying)
        return board

    def _make_flags(self, cohorts: dict[str, int], board: int) -> None:
        def made(key: str, *groups: Json, **sent: Any) -> Json:
            filters = {"groups": list(groups or [{"rollout_percentage": 100}])}
            filters |= sent.pop("filters", {})
            return self.post("/feature_flags/", key=key, filters=filters, **sent)

        base = made("base", name="A base", tags=["one", "two"], filters=_PAYLOAD)
        made("half", {"rollout_percentage": 50}, ensure_experience_continuity=True)
        variants = [{"key": name, "rollout_percentage": part} for name, part in _VARIANTS.items()]
        payloads = {"blue": '{"text": "\\u00e9"}', "red": "1"}
        colours = {"multivariate": {"variants": variants}, "payloads": payloads}
        made("colour", filters=colours, analytics_dashboards=[board])
        for name, leaf in _LEAVES.items():
            made(f"is-{name}", {"properties": [leaf], "rollout_percentage": 100})
        for name, cohort in cohorts.items():
            made(f"in-{name}", {"properties": [_in_cohort(cohort)], "rollout_percentage": 100})
        size = {"type": "group", "key": "size", "value": "10", "operator": "gt"}
        made(
            "companies",
            {"properties": [size | {"group_type_index": 0}]},
            filters={"aggregation_group_type_index": 0},
        )
        on_base = {"type": "flag", "key": str(base["id"]), "operator": "flag_evaluates_to"}
        dependent = made("dependent", {"properties": [on_base | {"value": True}]})
        watched = {
            "threshold": 1e12,
            "threshold_type": "insight",
            "operator": "gt",
            "threshold_metric": {"insight": "trends", "events": [{"order": 0, "id": "paid"}]},
        }
        made("watched", rollback_conditions=[watched])
        made("by-device", bucketing_identifier="device_id", evaluation_runtime="client")
        made("off", active=False)
        made("deleted", deleted=True)
        self._schedule(dependent)

    def _make_experiment(self) -> None:
        """A draft and a paused release, which nothing calculates anew."""
        paid: Json = {"kind": "EventsNode", "event": "paid"}
        metric: Json = {"kind": "ExperimentMetric", "metric_type": "mean", "source": paid}
        held = [{"properties": [], "rollout_percentage": 10}]
        self.post("/actions/", name="Paid", steps=[{"event": "paid", "url": "/pay"}])
        holdout = self.post("/experiment_holdouts/", name="Held out", filters=held)
        saved = self.post("/experiment_saved_metrics/", name="Payments", query=metric)
        self.post(
            "/experiments/",
            name="Which checkout",
            feature_flag_key="checkout",
            metrics=[metric],
            holdout_id=holdout["id"],
            saved_metrics_ids=[{"id": saved["id"], "metadata": {"type": "secondary"}}],
        )
        flag = self.post("/feature_flags/", key="released", filters={"groups": [_A_TENTH]})
        place = f"/feature_flags/{flag['id']}/guarded_release/"
        steps = [{"rollout_percentage": 50, "hold_minutes": 60}, {"rollout_percentage": 100}]
        self.post(place, steps=steps, metrics=[metric | {"goal": "increase"}])
        self.post(f"{place}pause/")

    def _schedule(self, flag: Json) -> None:
        """An executed change and a pending one; the API allows five years at most."""
        place = f"/feature_flags/{flag['id']}/scheduled_changes/"
        ahead = time.gmtime(time.time() + 1.5)
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", ahead)
        off = {"operation": "update_status", "value": False}
        done = self.post(place, scheduled_at=soon, payload=off)
        late = f"{ahead.tm_year + 4}-12-31T00:00:00Z"
        self.post(place, scheduled_at=late, payload=off | {"value": True})
        until(
            lambda: self.send("GET", f"{place}{done['id']}/")["executed_at"] is not None,
            "the scheduled change was not made",
        )

    def _manage(self) -> None:
        me = self.send("GET", "/api/users/@me/")["uuid"]
        rules = {"anonymize_ips": True, "removed_properties": ["secret"], "items_per_second": 1000}
        self.send("PATCH", f"/api/projects/{self.project_id}/", json={"ingestion": rules})
        roles = "/api/organizations/@current/roles/"
        role = self.post(roles, name="Engineering", feature_flags_access_level=21)
        self.post(f"{roles}{role['id']}/role_memberships/", user_uuid=me)
        flags = self.send("GET", "/feature_flags/")["results"]
        self.post(f"/feature_flags/{flags[0]['id']}/role_access/", role_id=role["id"])
        self.post("/api/personal_api_keys/", label="Reader", scopes=["feature_flag:read"])
        self.post("/api/projects/", name="Second")
        # A name that no resolver knows: what is to be sent stays.
        self.post("/webhooks/", url="https://hooks.invalid/x", events=["feature_flag.deleted"])
        self.post("/batch_exports/", **BATCH_EXPORT)
        gone = next(flag for flag in flags if flag["key"] == "half")
        self.send("PATCH", f"/feature_flags/{gone['id']}/", json={"name": "Half of them"})
        [seen] = self.send("GET", "/event_definitions/?search=seen")["results"]
        place = f"/event_definitions/{seen['id']}/"
        self.send("PATCH", place, json={"tags": ["core"]})
        self.send("PATCH", f"{place}marks/", json={"verified": True})

    def _await_events(self, count: int) -> None:
        def there() -> bool:
            return len(self.send("GET", "/events/?limit=100")["results"]) >= count

        until(there, "events are missing")

    def _await_calculation(self) -> None:
        def calculated() -> bool:
            cohorts = self.send("GET", "/cohorts/")["results"]
            return all(
                cohort["count"] is not None and not cohort["is_calculating"] for cohort in cohorts
            )

        until(calculated, "cohorts are not calculated")


_BOUGHT = {"amount": 9.5, "$groups": {"company": "acme"}, "odd": [1, {"a": None}]}
_A_TENTH = {"rollout_percentage": 10}
_PAYLOAD = {"payloads": {"true": '{"size": 2}'}}
_VARIANTS = {"red": 40, "green": 35, "blue": 25}
_LEAVES: dict[str, Json] = {
    name: {"type": "person", "key": key, "value": value, "operator": operator}
    for name, key, operator, value in (
        ("exact", "plan", "exact", ["pro", "team"]),
        ("not", "plan", "is_not", ["pro"]),
        ("set", "email", "is_set", "is_set"),
        ("not-set", "email", "is_not_set", "is_not_set"),
        ("containing", "email", "icontains", "CORP"),
        ("regex", "email", "regex", "^ann@.*example$"),
        ("greater", "visits", "gt", "40"),
        ("before", "since", "is_date_before", "2024-01-15"),
    )
}


def _seen(distinct_id: str, number: int) -> Json:
    return {
        "event": "seen",
        "distinct_id": distinct_id,
        "uuid": f"018d6c2e-0000-7000-8000-{number:012d}",
        "timestamp": f"2024-02-01T00:{number:02d}:00Z",
        "properties": {"path": f"/{number}", "$groups": {"company": "acme", "team": "red"}},
        "$set": {"visits": number, "since": f"2024-01-{number % 28 + 1:02d}"},
    }


def _in_cohort(cohort_id: int) -> Json:
    return {"type": "cohort", "key": "id", "value": cohort_id}
