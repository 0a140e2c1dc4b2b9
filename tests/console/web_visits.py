"""Made-up visits to a site, and the numbers of web analytics computed in plain Python."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.console.project import Json

PATHS = ("/", "/pricing", "/docs", "/users/1", "/users/22")
REFERRERS = ("$direct", "news.example", "www.google.com")
SOURCES = (None, "newsletter", "ads")
BROWSERS = ("Chrome", "Firefox", "Safari")
PLACES = (("DE", "BY", "Bavaria", "Munich"), ("FR", "BRE", "Brittany", "Rennes"), None)
PEOPLE = 9
BOUNCE_S = 10
LINK = "https://partner.example/offer"

Keeps = Callable[["Visit", "View"], bool]


@dataclass(frozen=True)
class View:
    path: str
    at: datetime


@dataclass(frozen=True)
class Visit:
    """A session.

    Attributes:
        place: Country code, region code, region name and city name.
        signed_up: When the visitor signed up.
    """

    id: str
    person: str
    views: tuple[View, ...]
    referrer: str
    source: str | None
    browser: str
    place: tuple[str, str, str, str] | None
    signed_up: datetime | None

    @property
    def seconds(self) -> int:
        ends = [self.views[-1].at, *([self.signed_up] if self.signed_up else [])]
        return int((max(ends) - self.views[0].at).total_seconds())

    @property
    def is_bounce(self) -> bool:
        return len(self.views) == 1 and self.seconds < BOUNCE_S and not self.follows_link

    @property
    def follows_link(self) -> bool:
        return self.source == "ads"

    def before(self, view: View) -> View | None:
        """Return the view before another one."""
        place = self.views.index(view)
        return self.views[place - 1] if place else None

    def events(self) -> Iterator[Json]:
        country, region, name, city = self.place or (None,) * 4
        common = {
            "$session_id": self.id,
            "$referring_domain": self.referrer,
            "utm_source": self.source,
            "$browser": self.browser,
            "$geoip_country_code": country,
            "$geoip_subdivision_1_code": region,
            "$geoip_subdivision_1_name": name,
            "$geoip_city_name": city,
            "$geoip_disable": True,
        }
        given = {key: value for key, value in common.items() if value is not None}
        for view in self.views:
            page = {"$current_url": f"https://site.example{view.path}", "$pathname": view.path}
            yield event("$pageview", self.person, view.at, given | page | self._left(view))
        if self.follows_link:
            click = {"$event_type": "click", "$external_click_url": LINK, "$host": "site.example"}
            yield event("$autocapture", self.person, self.views[-1].at, given | click)
        if self.signed_up:
            yield event("signed up", self.person, self.signed_up, given)

    def _left(self, view: View) -> Json:
        before = self.before(view)
        if before is None:
            return {}
        seconds = (view.at - before.at).total_seconds()
        return {"$prev_pageview_pathname": before.path, "$prev_pageview_duration": seconds}


def event(name: str, person: str, at: datetime, properties: Json) -> Json:
    return {
        "event": name,
        "distinct_id": person,
        "timestamp": at.isoformat(),
        "properties": properties,
    }


def some_visits(seed: int, days: Sequence[int]) -> list[Visit]:
    """Return visits at noon, this many days ago; always the same ones."""
    chance = random.Random(seed)
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    return [
        _visit(chance, f"session-{days_ago}-{number}", noon - timedelta(days=days_ago))
        for days_ago in days
        for number in range(chance.randrange(1, 4))
    ]


def _visit(chance: random.Random, session: str, at: datetime) -> Visit:
    views = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        views.append(View(chance.choice(PATHS), at))
        at += timedelta(seconds=chance.randrange(2, 90))
    return Visit(
        session,
        f"person-{chance.randrange(PEOPLE)}",
        tuple(views),
        chance.choice(REFERRERS),
        chance.choice(SOURCES),
        chance.choice(BROWSERS),
        chance.choice(PLACES),
        at if chance.random() < 0.3 else None,
    )


def everything(_: Visit, __: View) -> bool:
    return True


@dataclass(frozen=True)
class Numbers:
    """The numbers of some visits, counting only views that pass a filter."""

    visits: Sequence[Visit]
    keeps: Keeps = everything

    def kept(self) -> list[tuple[Visit, list[View]]]:
        found = [
            (visit, [view for view in visit.views if self.keeps(visit, view)])
            for visit in self.visits
        ]
        return [(visit, views) for visit, views in found if views]

    def figures(self) -> list[str]:
        """Return the figures of the overview as the console writes them."""
        kept = self.kept()
        visitors = {visit.person for visit, _ in kept}
        views = sum(len(views) for _, views in kept)
        seconds = sum(visit.seconds for visit, _ in kept) / len(kept)
        bounced = 100 * sum(visit.is_bounce for visit, _ in kept) / len(kept)
        numbers = [str(len(number)) for number in (visitors, kept)]
        return [numbers[0], str(views), numbers[1], duration(seconds), share(bounced)]

    def table(self, name: Callable[[Visit, View], str | None]) -> list[tuple[str, int, int]]:
        """Return rows with visitors and views by a value, in the API's order."""
        people: dict[str, set[str]] = {}
        views: dict[str, int] = {}
        for visit, kept in self.kept():
            for view in kept:
                value = name(visit, view)
                if value is not None:
                    people.setdefault(value, set()).add(visit.person)
                    views[value] = views.get(value, 0) + 1
        rows = [(value, len(people[value]), views[value]) for value in views]
        return sorted(rows, key=lambda row: (-row[1], -row[2], row[0]))

    def seconds_on(self, path: str) -> float | None:
        """Return what 9 of 10 views of a page that was left stay below."""
        pairs = [(visit.before(view), view) for visit, views in self.kept() for view in views]
        seconds = sorted(
            (view.at - before.at).total_seconds()
            for before, view in pairs
            if before is not None and before.path == path
        )
        if not seconds:
            return None
        place = 0.9 * (len(seconds) - 1)
        low, high = seconds[int(place)], seconds[min(int(place) + 1, len(seconds) - 1)]
        return low + (place - int(place)) * (high - low)

    def goal(self, visits: Sequence[Visit] | None = None) -> tuple[int, int]:
        """Return how many visitors signed up, and how often."""
        done = [visit for visit, _ in self.kept() if visit.signed_up]
        return len({visit.person for visit in done}), len(done)


def share(percent: float) -> str:
    text = f"{percent:.2f}".rstrip("0").rstrip(".")
    return f"{text}%"


def duration(seconds: float) -> str:
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    rest = f" {whole % 60} s" if whole % 60 else ""
    return f"{whole // 60} min{rest}"


def change(now: float, before: float) -> int:
    """Return the change from the previous number in whole percent."""
    return round(100 * (now - before) / before)
