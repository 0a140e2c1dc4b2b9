"""The timed questions, and the same questions for a warehouse: DuckDB over Parquet.

The floor is the simplest SQL with the same figures, or nearly so: it counts duplicates twice,
tries a funnel only from the first entry, and has no `Other`. `us` is in microseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from bench.insights_events import END

Json = dict[str, Any]
Ask = tuple[str, Json]  # the path below the project, and the body

# Of trends and web analytics: at the level of the floor.
LEVEL: Final = 1.3
DAY_US: Final = 86_400_000_000
VIEWS: Final = {"id": "$pageview"}
CHROME: Final = {"type": "event", "key": "$browser", "value": "Chrome", "operator": "exact"}


@dataclass(frozen=True)
class Question:
    """A question with its limit.

    Attributes:
        asks: The requests, made one after the other.
        target_s: The p95 of all of them together.
        floor: The statements of the floor; none if SQL has no such thing.
        processor_ratio_max: The most processor time, as a multiple of the floor's.
    """

    name: str
    asks: tuple[Ask, ...]
    target_s: float
    floor: tuple[str, ...] = ()
    processor_ratio_max: float = 2.0


def days(number: int) -> Json:
    """Return the range of the last whole days."""
    first, last = END - timedelta(days=number), END - timedelta(days=1)
    return {"date_from": f"{first:%Y-%m-%d}", "date_to": f"{last:%Y-%m-%d}"}


def within(number: int, column: str = "us") -> str:
    return f"{column} >= {_us(END - timedelta(days=number))} AND {column} < {_us(END)}"


def _us(time: datetime) -> int:
    return int(time.timestamp()) * 1_000_000


def trend(number: int, *events: Json, **more: Any) -> Ask:
    filters = {"insight": "TRENDS", "events": list(events), "interval": "day", **more}
    return "insights/trend/", {**filters, **days(number)}


def web(kind: str, **more: Any) -> Ask:
    dates = days(30)
    source = {"kind": kind, "dateRange": dates, "properties": [], **more}
    return "query/", {"query": source}


_DAY = f"CAST(floor(us / {DAY_US}.0) AS BIGINT)"
_WEEK = f"CAST(floor((us - {_us(END)}) / {7 * DAY_US}.0) AS BIGINT)"
# The person for which each event counts now.
_RESOLVED = """
  SELECT coalesce(o.new_person, e.person) AS who, e.event, e.us, e.session, e.page, e.plan
    FROM events AS e LEFT JOIN overrides AS o ON o.old_person = e.person
"""

_BY_DAY = f"""
  SELECT {_DAY} AS day, count(*) FROM events
   WHERE event = '$pageview' AND {within(30)} GROUP BY 1 ORDER BY 1
"""
_BY_PAGE = f"""
  WITH seen AS (SELECT {_DAY} AS day, page, count(*) AS events FROM events
                 WHERE event = '$pageview' AND browser = 'Chrome' AND {within(30)} GROUP BY 1, 2),
       top AS (SELECT page FROM seen GROUP BY page ORDER BY sum(events) DESC, page LIMIT 25)
  SELECT day, coalesce(top.page, 'other') AS value, sum(events)
    FROM seen LEFT JOIN top ON top.page = seen.page GROUP BY 1, 2 ORDER BY 1, 2
"""
_DAU = f"""
  SELECT {_DAY} AS day, count(DISTINCT who) FROM ({_RESOLVED}) AS r
   WHERE event = '$pageview' AND {within(90)} GROUP BY 1 ORDER BY 1
"""
_SEVEN = " UNION ALL ".join(f"SELECT {n} AS n" for n in range(7))
_WEEKLY = f"""
  WITH seen AS (SELECT DISTINCT {_DAY} AS day, who FROM ({_RESOLVED}) AS r
                 WHERE event = '$pageview' AND {within(96)}),
       spread AS (SELECT DISTINCT day + n AS day, who FROM seen CROSS JOIN ({_SEVEN}) AS s)
  SELECT day, count(*) FROM spread
   WHERE day >= {_us(END - timedelta(days=90)) // DAY_US} AND day < {_us(END) // DAY_US}
GROUP BY 1 ORDER BY 1
"""
_FUNNEL = f"""
  WITH acts AS (SELECT * FROM ({_RESOLVED}) AS r WHERE {within(30)}),
       one AS (SELECT who, min(us) AS entered, min(page) AS first FROM acts
                WHERE event = '$pageview' AND page IN ('/page/0', '/page/1') GROUP BY who),
       two AS (SELECT a.who AS who, min(a.us) AS reached FROM acts AS a JOIN one ON one.who = a.who
                WHERE a.event = 'item added' AND a.us >= one.entered
                  AND a.us <= one.entered + {14 * DAY_US} GROUP BY 1),
       three AS (SELECT DISTINCT a.who AS who FROM acts AS a
                   JOIN two ON two.who = a.who JOIN one ON one.who = a.who
                  WHERE a.event = 'order placed' AND a.us >= two.reached
                    AND a.us <= one.entered + {14 * DAY_US})
  SELECT one.first AS value, count(*), count(two.who), count(three.who)
    FROM one LEFT JOIN two ON two.who = one.who LEFT JOIN three ON three.who = one.who
GROUP BY 1 ORDER BY 1
"""
_RETENTION = f"""
  WITH weeks AS (SELECT DISTINCT who, {_WEEK} AS week, event FROM ({_RESOLVED}) AS r
                  WHERE event IN ('item added', 'report opened') AND {within(84)}),
       came AS (SELECT who, week FROM weeks WHERE event = 'item added'),
       back AS (SELECT who, week FROM weeks WHERE event = 'report opened')
  SELECT came.week AS week, back.week AS later, count(*)
    FROM came JOIN back ON back.who = came.who WHERE back.week > came.week
GROUP BY 1, 2 ORDER BY 1, 2
"""
_PATHS = f"""
  WITH seen AS (SELECT who, us, page, lag(us) OVER (PARTITION BY who ORDER BY us) AS before,
                       lag(page) OVER (PARTITION BY who ORDER BY us) AS was
                  FROM ({_RESOLVED}) AS r WHERE event = '$pageview' AND {within(30)}),
       cut AS (SELECT who, us, page, was, before,
                      sum(CASE WHEN before IS NULL OR us - before >= 1800000000 THEN 1 ELSE 0 END)
                        OVER (PARTITION BY who ORDER BY us) AS path FROM seen),
       steps AS (SELECT who, path, page, us,
                        row_number() OVER (PARTITION BY who, path ORDER BY us) AS step FROM cut
                  WHERE was IS NULL OR was <> page OR us - before >= 1800000000),
       edges AS (SELECT step, page, lead(page) OVER (PARTITION BY who, path ORDER BY us) AS next
                   FROM steps WHERE step <= 5)
  SELECT step, page, next, count(*) FROM edges WHERE next IS NOT NULL
GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT 50
"""
_SESSIONS = f"""
  SELECT session, min(who) AS visitor, count(*) AS views, max(us) - min(us) AS took
    FROM ({_RESOLVED}) AS r
   WHERE event = '$pageview' AND {within(30)} GROUP BY session
"""
_OVERVIEW = f"""
  SELECT count(DISTINCT visitor), sum(views), count(*), avg(took) FROM ({_SESSIONS}) AS s
"""
_SOURCES = f"""
  SELECT source, count(DISTINCT who), count(*)
    FROM (SELECT session, coalesce(max(o.new_person), max(e.person)) AS who,
                 max(referrer) AS source
            FROM events AS e LEFT JOIN overrides AS o ON o.old_person = e.person
           WHERE event = '$pageview' AND {within(30)} GROUP BY session) AS s
GROUP BY 1 ORDER BY 2 DESC LIMIT 10
"""
_PAGES = f"""
  SELECT page, count(DISTINCT who), count(*) FROM ({_RESOLVED}) AS r
   WHERE event = '$pageview' AND {within(30)} GROUP BY 1 ORDER BY 2 DESC LIMIT 10
"""

STEPS: Final = (
    {
        **VIEWS,
        "order": 0,
        "properties": [
            {
                "type": "event",
                "key": "$pathname",
                "value": ["/page/0", "/page/1"],
                "operator": "exact",
            }
        ],
    },
    {"id": "item added", "order": 1},
    {"id": "order placed", "order": 2},
)
FUNNEL: Final[Ask] = (
    "insights/funnel/",
    {
        "insight": "FUNNELS",
        "events": list(STEPS),
        "breakdown": "$pathname",
        "funnel_window_interval": 14,
        "funnel_window_interval_unit": "day",
        **days(30),
    },
)
RETENTION: Final[Ask] = (
    "insights/retention/",
    {
        "insight": "RETENTION",
        "period": "Week",
        "total_intervals": 12,
        "target_entity": {"id": "item added", "type": "events"},
        "returning_entity": {"id": "report opened", "type": "events"},
        "date_to": days(1)["date_to"],
    },
)
PATHS: Final[Ask] = (
    "insights/path/",
    {"insight": "PATHS", "include_event_types": ["$pageview"], "step_limit": 5, **days(30)},
)
BY_PAGE: Final = trend(30, VIEWS, properties=[CHROME], breakdown="$pathname")

QUESTIONS: Final = (
    Question("trend by day", (trend(30, VIEWS),), 0.3, (_BY_DAY,), LEVEL),
    Question("trend, filter, breakdown of 25", (BY_PAGE,), 0.7, (_BY_PAGE,), LEVEL),
    Question("dau, 90 days", (trend(90, {**VIEWS, "math": "dau"}),), 0.8, (_DAU,), LEVEL),
    Question(
        "weekly active, 90 days",
        (trend(90, {**VIEWS, "math": "weekly_active"}),),
        0.8,
        (_WEEKLY,),
        LEVEL,
    ),
    Question("funnel of 3, filter, breakdown", (FUNNEL,), 1.0, (_FUNNEL,)),
    Question("retention, 12 weeks", (RETENTION,), 1.0, (_RETENTION,)),
    Question("paths, 5 steps", (PATHS,), 1.5, (_PATHS,)),
    Question(
        "web overview, sources, pages",
        (
            web("WebOverviewQuery"),
            web("WebStatsTableQuery", breakdownBy="InitialReferringDomain"),
            web("WebStatsTableQuery", breakdownBy="Page"),
        ),
        0.4,
        (_OVERVIEW, _SOURCES, _PAGES),
        LEVEL,
    ),
)

# The filters of a dashboard's twelve tiles.
TILES: Final[tuple[Mapping[str, Any], ...]] = (
    *(
        trend(30, {"id": name, "math": math})[1]
        for name in ("$pageview", "item added", "order placed")
        for math in ("total", "dau")
    ),
    BY_PAGE[1],
    trend(90, {**VIEWS, "math": "weekly_active"})[1],
    trend(30, {"id": "order placed"}, breakdown="plan", breakdown_type="person")[1],
    FUNNEL[1],
    RETENTION[1],
    PATHS[1],
)
