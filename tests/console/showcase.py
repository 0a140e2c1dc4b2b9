"""A project as a team has it after two weeks: for screenshots, and for tests of many screens.

It is the same each time, except for the hour at which it ends.
"""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fanion.projects.model import Level
from tests.console import showcase_experiments, showcase_flags
from tests.console.hostile import HOSTILE, deep
from tests.console.installation import Account, Installation
from tests.console.project import Json, Project, has
from tests.support.awaited import until
from tests.support.batch_exports import BATCH_EXPORT

DAYS, PEOPLE, COMPANIES = 14, 120, 8
BATCH = 1_000
FIRST = (
    "Ada",
    "Bo",
    "Cem",
    "Dana",
    "Elif",
    "Finn",
    "Grace",
    "Hugo",
    "Ines",
    "Jona",
    "Kaya",
    "Lars",
)
LAST = ("Abel", "Brandt", "Costa", "Diaz", "Eriksen", "Fischer", "Garcia", "Hansen", "Ito")
COUNTRIES = ("Germany", "France", "Brazil", "Japan", "United States", "Kenya")
PAGES = ("/", "/pricing", "/docs/start", "/cart", "/checkout", "/account/settings")
BROWSERS = (("Chrome", "Windows"), ("Safari", "Mac OS X"), ("Firefox", "Linux"))
# Where visits come from: the referrer, and the source and campaign of the link.
SOURCES = (
    ("$direct", None, None),
    ("www.google.com", None, None),
    ("$direct", "newsletter", "spring"),
    ("news.ycombinator.com", None, None),
    ("t.co", "twitter", "launch"),
    ("www.google.com", "google", "brand"),
    ("blog.example", None, None),
)
# Countries by code, with a region and a city of each.
PLACES = (
    ("DE", "Bavaria", "Munich"),
    ("DE", "Berlin", "Berlin"),
    ("FR", "Brittany", "Rennes"),
    ("BR", "Bahia", "Salvador"),
    ("JP", "Osaka", "Osaka"),
    ("US", "Ohio", "Columbus"),
)
SCREENS_OF = (("Desktop", 1440, 900), ("Desktop", 1920, 1080), ("Mobile", 390, 844))
LANGUAGES = (("de-DE", -120), ("en-US", 300), ("fr-FR", -60), ("pt-BR", 180), ("ja-JP", -540))
# The share of visits with the previous step that continue with this one.
FUNNEL = (("item added", 0.5), ("checkout started", 0.6), ("paid", 0.7))


@dataclass(frozen=True)
class Showcase:
    """The project, with names of what is in it.

    Attributes:
        empty: A project in which nothing has happened.
        people: The distinct ids of its persons.
        hostile: The distinct id of the person whose properties attack.
    """

    project: Project
    empty: Project
    members: dict[str, Account]
    people: list[str]
    hostile: str
    flags: dict[str, Json]
    experiments: dict[str, Json]
    cohorts: dict[str, Json]
    action: Json
    dashboard: Json
    alert: Json


def make_showcase(installation: Installation) -> Showcase:
    project = installation.project("Corner shop")
    members = {
        "Maja": installation.member("Maja", Level.ADMIN),
        "Theo": installation.member("Theo"),
        "Vera": installation.member("Vera", Level.VIEWER),
    }
    people, items = _everything(random.Random(14), _now())
    for start in range(0, len(items), BATCH):
        project.capture(*items[start : start + BATCH])
    project.capture(*_visits_of_this_hour(random.Random(15), people))
    _settle_webhooks(project)
    cohorts = _cohorts(project, people)
    flags = showcase_flags.make_flags(project, cohorts, people)
    experiments = showcase_experiments.make_experiments(project)
    step = {"event": "$autocapture", "text": "Pay now"}
    action = project.post("/actions/", name="Paid or tried", steps=[{"event": "paid"}, step])
    is_paying = {"type": "person", "key": "plan", "operator": "exact", "value": ["pro", "team"]}
    project.post("/segments/", name="Paying customers", properties=[is_paying])
    _mark_definitions(project)
    _name_test_accounts(project, cohorts["static"])
    _manage(installation)
    project.await_cohorts()
    empty = installation.project("Nothing yet")
    dashboard = _dashboard(project)
    alert = _alert(project, dashboard)
    return Showcase(
        project=project,
        empty=empty,
        members=members,
        people=people,
        hostile="mallory",
        flags=flags,
        experiments=experiments,
        cohorts=cohorts,
        action=action,
        dashboard=dashboard,
        alert=alert,
    )


def _now() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _everything(chance: random.Random, now: datetime) -> tuple[list[str], list[Json]]:
    people = [f"user-{number:03}" for number in range(PEOPLE)]
    items = [_signed_up(chance, name, number, now) for number, name in enumerate(people)]
    items += [_identified(name, number, now) for number, name in enumerate(people) if number % 4]
    items += [_company(number, people[0]) for number in range(COMPANIES)]
    for days_ago in range(DAYS, -1, -1):
        # Fewer people come at the weekend, and more with each day.
        day = now - timedelta(days=days_ago)
        share = (0.15 if day.weekday() >= 5 else 0.35) * (1.6 - days_ago / DAYS)
        for name in people:
            if chance.random() < share:
                minutes = chance.uniform(0, 600) if days_ago else chance.uniform(0, 50)
                items += _visit(chance, name, day - timedelta(minutes=minutes))
        items += _both_ends(people[days_ago], day)
    items += _attacks(now)
    items += _refused()
    return people, items


def _visits_of_this_hour(chance: random.Random, people: list[str]) -> list[Json]:
    now = datetime.now(UTC)
    events = []
    for number, name in enumerate(chance.sample(people, 20)):
        events += _visit(chance, name, now - timedelta(minutes=15 + 2 * number))
    return events


def _identified(name: str, number: int, now: datetime) -> Json:
    """Return the sign-in of a person after a visit without one."""
    at = now - timedelta(days=DAYS, minutes=PEOPLE - number)
    return _event("$identify", name, at, {"$anon_distinct_id": f"visitor-{number:03}"})


def _signed_up(chance: random.Random, name: str, number: int, now: datetime) -> Json:
    first, last = FIRST[number % len(FIRST)], LAST[number % len(LAST)]
    browser, system = BROWSERS[number % len(BROWSERS)]
    plan = chance.choices(("free", "pro", "team"), (6, 3, 1))[0]
    properties = {
        "email": f"{first}.{last}{number}@example.com".lower(),
        "name": f"{first} {last}",
        "plan": plan,
        "country": COUNTRIES[number % len(COUNTRIES)],
        "seats": chance.randrange(1, 40),
        "newsletter": chance.random() < 0.4,
        "$browser": browser,
        "$os": system,
    }
    at = now - timedelta(days=DAYS, minutes=PEOPLE - number)
    return _event("signed up", name, at, {"plan": plan}) | {"$set": properties}


def _company(number: int, by: str) -> Json:
    size = (number + 1) * 15
    group = {"name": f"{LAST[number]} Ltd", "size": size, "plan": "team" if size > 60 else "free"}
    properties = {"$group_type": "company", "$group_key": f"company-{number}", "$group_set": group}
    return {"event": "$groupidentify", "distinct_id": by, "properties": properties}


def _visit(chance: random.Random, name: str, at: datetime) -> list[Json]:
    number = int(name.rpartition("-")[2])
    common = {
        **_device(number),
        "$session_id": f"session-{name}-{at:%m%d}",
        "$groups": {"company": f"company-{number % COMPANIES}"},
        "$lib": "web",
    }
    events = []
    for _ in range(chance.randrange(1, 4)):
        path = chance.choice(PAGES)
        page = {"$current_url": f"https://shop.example{path}", "$pathname": path}
        events.append(_event("$pageview", name, at, common | page | _source(number + at.day)))
        at += timedelta(seconds=chance.randrange(5, 90))
    for event, share in FUNNEL:
        if chance.random() > share:
            if event == "paid":
                events.append(_event("checkout failed", name, at, common | {"code": "declined"}))
            break
        amount = round(chance.uniform(5, 250), 2)
        events.append(_event(event, name, at, common | {"amount": amount, "currency": "EUR"}))
        at += timedelta(seconds=chance.randrange(5, 90))
    return events


def _device(number: int) -> Json:
    """Return what a person's browser reports, and its location."""
    browser, system = BROWSERS[number % len(BROWSERS)]
    kind, width, height = SCREENS_OF[number % len(SCREENS_OF)]
    language, offset = LANGUAGES[number % len(LANGUAGES)]
    country, region, city = PLACES[number % len(PLACES)]
    return {
        "$browser": browser,
        "$os": system,
        "$device_type": kind,
        "$viewport_width": width,
        "$viewport_height": height,
        "$browser_language": language,
        "$timezone_offset": offset,
        "$geoip_country_code": country,
        "$geoip_subdivision_1_name": region,
        "$geoip_city_name": city,
    }


def _source(number: int) -> Json:
    referrer, source, campaign = SOURCES[number % len(SOURCES)]
    sent = {"$referring_domain": referrer, "utm_source": source, "utm_campaign": campaign}
    return {name: value for name, value in sent.items() if value is not None}


def _both_ends(name: str, day: datetime) -> list[Json]:
    """Return both ends of a checkout, since rare events would be missing on some days by chance."""
    at = day - timedelta(minutes=1)
    paid = {"amount": 19.9, "currency": "EUR"}
    return [
        _event("checkout failed", name, at, {"code": "declined"}),
        _event("paid", name, at, paid),
    ]


def _attacks(now: datetime) -> list[Json]:
    at = now - timedelta(minutes=5)
    person = {name: value for name, value in HOSTILE.items() if name != "__proto__"}
    sent = _event("<b>bold</b> event", "mallory", at, {**HOSTILE, "deep": deep()})
    return [
        sent | {"$set": person | {"name": HOSTILE["markup"], "email": HOSTILE["bidi"]}},
        _event("e" * 190, "mallory", at, {"long": HOSTILE["long"]}),
        _event("paid", '"><svg onload=alert(1)>', at, {"amount": "=1+1"}),
    ]


def _refused() -> list[Json]:
    """Return events that are refused; the ledger says why."""
    return [
        {"event": "", "distinct_id": "user-001"},
        {"event": "paid"},
        {"event": "paid", "distinct_id": "d" * 500},
        {"event": "paid", "distinct_id": "null"},
    ]


def _event(name: str, distinct_id: str, at: datetime, properties: Json) -> Json:
    return {
        "event": name,
        "distinct_id": distinct_id,
        "timestamp": at.isoformat(),
        "properties": properties,
    }


def _cohorts(project: Project, people: list[str]) -> dict[str, Json]:
    did: Json = {
        "type": "behavioral",
        "key": "paid",
        "event_type": "events",
        "value": "performed_event",
        "time_value": 7,
        "time_interval": "day",
    }
    paying = project.cohort("Paying", has("plan", ["pro", "team"]), description="On a paid plan.")
    buyers = project.cohort("Bought within a week", did)
    in_paying: Json = {"type": "cohort", "key": "id", "value": paying["id"]}
    return {
        "paying": paying,
        "buyers": buyers,
        "both": project.cohort("Paying in Europe", in_paying, has("country", ["Germany"])),
        "static": project.static_cohort("Testers", *people[:20], "nobody-1", "nobody-2"),
        "hostile": project.cohort("<i>Cohort</i> " + "with a very long name " * 8, did),
    }


def _dashboard(project: Project) -> Json:
    """Return a dashboard with lines, bars, a number, a pie, and a malicious name."""
    made = project.post("/dashboards/", name="Shop this month", description="For Monday's meeting")
    views, paid = {"event": "$pageview", "math": "dau"}, {"event": "paid"}
    by_browser = {"breakdowns": [{"property": "$browser", "type": "event"}]}
    asked = (
        ("Visitors by browser", [views], {"breakdownFilter": by_browser}),
        ("Payments each week", [paid], {"interval": "week", "trendsFilter": _drawn("ActionsBar")}),
        ("Payments", [paid], {"trendsFilter": _drawn("BoldNumber")}),
        (HOSTILE["markup"], [views, paid], {"compareFilter": {"compare": True}}),
    )
    for name, events, options in asked:
        series = [{"kind": "EventsNode", **event} for event in events]
        query = {"kind": "TrendsQuery", "series": series, **options}
        project.post("/insights/", name=name, query=query, dashboards=[made["id"]], saved=True)
    for content, days in (("New shop window", 5), (HOSTILE["markup"], 12)):
        moment = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        project.post("/annotations/", content=content, date_marker=moment)
    project.post("/batch_exports/", **BATCH_EXPORT)
    return project.patch(f"/dashboards/{made['id']}/", filters={"date_from": "-30d"})


def _alert(project: Project, dashboard: Json) -> Json:
    """Return an alert that fires, on the visitors of one browser."""
    [visitors] = project.get("/insights/", search="Visitors by browser", basic="true")["results"]
    browser = {"breakdown_value": "Firefox", "condition": "below", "threshold": 100}
    made = project.post("/alerts/", name="Few with Firefox", insight=visitors["id"], **browser)
    project.post(
        "/alerts/", name=HOSTILE["markup"], insight=visitors["id"], **browser, enabled=False
    )
    until(lambda: project.get(f"/alerts/{made['id']}/")["state"] == "firing", "it does not fire")
    return made


def _drawn(display: str) -> Json:
    return {"display": display}


def _name_test_accounts(project: Project, testers: Json) -> None:
    outside = {"type": "cohort", "key": "id", "operator": "not_in", "value": testers["id"]}
    staff = has("email", "@corner-shop.example", "not_icontains")
    project.patch("/", test_account_filters=[staff, outside])


def _mark_definitions(project: Project) -> None:
    definitions = project.get("/event_definitions/", search="paid")["results"]
    path = f"/event_definitions/{definitions[0]['id']}/"
    project.patch(path, tags=["revenue"])
    project.patch(f"{path}marks/", verified=True)


def _settle_webhooks(project: Project) -> None:
    """Create webhooks to unknown names, so that deliveries fail and wait to be sent again."""
    changes = ["feature_flag.created", "feature_flag.updated", "feature_flag.rolled_back"]
    project.post("/webhooks/", url="https://hooks.example.invalid/flags", events=changes)
    project.post(
        "/webhooks/", url="https://chat.example.invalid/x", events=["cohort.created"], active=False
    )
    project.post("/secret_key/")
    for number, error in enumerate(("ValueError: a date of year 0", "KeyError: 'properties'")):
        item = _event("paid", f"user-{number:03}", _now(), {"amount": 12})
        project.dead_letter(item, error=error)


def _manage(installation: Installation) -> None:
    with installation.client() as client:
        here = "/api/organizations/@current"
        requests: list[tuple[str, dict[str, Any]]] = [
            (f"{here}/invites/", {"target_email": "newcomer@example.com", "level": 1}),
            (f"{here}/invites/", {"target_email": "looks-on@example.com", "level": 0}),
            (f"{here}/roles/", {"name": "Release managers", "feature_flags_access_level": 37}),
            ("/api/personal_api_keys/", {"label": "CI", "scopes": ["feature_flag:read"]}),
        ]
        for path, body in requests:
            answer = client.post(path, json=body)
            assert answer.is_success or "unique" in answer.text, answer.text
