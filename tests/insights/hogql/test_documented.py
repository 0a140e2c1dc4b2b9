"""The forms of the queries in PostHog's documentation of SQL: each runs, or is refused by name.

Source: insights.md, section 10; PostHog's pages on SQL expressions, SQL insights, the SQL editor,
data access, variables and useful functions.
"""

from typing import Final

import pytest

from tests.support.sql import Asker

RUNS: Final = ""
# Each query, and a part of the sentence by which it is refused.
DOCUMENTED: Final[dict[str, str]] = {
    # Expressions.
    "select multiIf(properties.$os == 'Android', 'mobile', properties.$os == 'iOS', 'mobile', "
    "'desktop'), count() from events group by 1": RUNS,
    "select concat(properties.$lib, ' - ', properties.$lib_version) from events": RUNS,
    "select if(properties.$browser = 'Firefox', 1, 0) from events": RUNS,
    "select coalesce(properties.$initial_referrer, '$direct') from events": RUNS,
    "select if(like(properties.$current_url, '%docs%'), 'docs', 'other') from events": RUNS,
    "select properties.$current_url ilike '%/blog%' from events": RUNS,
    "select toString(toDate(timestamp)), dateDiff('day', person.created_at, timestamp) from events":
    RUNS,
    "select properties.$screen_width * properties.$screen_height as screen from events":
    "ILLEGAL_TYPE_OF_ARGUMENT",
    "select toFloat(properties.$screen_width) * toFloat(properties.$screen_height) from events":
    RUNS,
    "select countIf(event = '$pageview') / uniq(person_id) from events": RUNS,
    "select cutQueryString(properties.$current_url), domain(properties.$referrer) from events":
    RUNS,
    "select replaceRegexpOne(properties.$pathname, '/\\d+', '/id') from events": RUNS,
    "select event in ('$pageview', '$autocapture') from events": RUNS,
    "select person.properties.$initial_browser, count() from events group by 1": RUNS,
    "select properties['$feature/beta'], properties.`$feature/beta` from events": RUNS,
    # The SQL editor.
    "SELECT event, timestamp, properties.$current_url FROM events": RUNS,
    "SELECT DISTINCT person_id FROM events": RUNS,
    "SELECT session_id, min_first_timestamp, click_count FROM raw_session_replay_events":
    'no table "raw_session_replay_events"',
    "SELECT * FROM (SELECT event, count() AS n FROM events GROUP BY event) WHERE n > 1": RUNS,
    "SELECT e.event, p.properties.email FROM events AS e JOIN persons AS p ON e.person_id = p.id":
    RUNS,
    "SELECT events.event, person.properties.is_demo FROM events LEFT JOIN persons "
    "ON events.person_id = persons.id": RUNS,
    "SELECT * FROM events WHERE event = '$pageview' AND toDate(timestamp) = today() LIMIT 10": RUNS,
    "SELECT * FROM events WHERE timestamp > now() - INTERVAL 1 DAY": RUNS,
    "SELECT count() FROM events WHERE timestamp >= now() - toIntervalDay(7)": RUNS,
    "SELECT event, count() AS n FROM events GROUP BY event HAVING n > 10 ORDER BY n DESC": RUNS,
    "SELECT DISTINCT uuid FROM events WHERE person.properties.email LIKE '%gmail.com'": RUNS,
    "SELECT event FROM events ORDER BY timestamp DESC LIMIT 5 OFFSET 5": RUNS,
    "WITH first AS (SELECT person_id, min(timestamp) AS at FROM events GROUP BY person_id) "
    "SELECT toStartOfWeek(at), count() FROM first GROUP BY 1": RUNS,
    "SELECT event FROM events UNION ALL SELECT 'x'": RUNS,
    "SELECT CASE WHEN event = '$pageview' THEN 1 ELSE 0 END FROM events": RUNS,
    "SELECT properties.$current_url AS url, count() AS n FROM events WHERE event = '$pageview' "
    "AND (distinct_id, timestamp) IN (SELECT distinct_id, min(timestamp) FROM events "
    "WHERE event = '$pageview' GROUP BY distinct_id) AND {filters} GROUP BY url ORDER BY n DESC":
    RUNS,
    "SELECT event, count() FROM events WHERE {filters} GROUP BY event ORDER BY count() DESC": RUNS,
    "SELECT event FROM events WHERE timestamp > now() - interval {v} day": RUNS,
    "SELECT event FROM events WHERE event = {variables.event_name}": "no value",
    # Data and functions.
    "SELECT person_id, person.created_at FROM events WHERE person.created_at > now() - interval 1 "
    "year": RUNS,
    "SELECT groupArray(event), argMax(event, timestamp), any(properties.$os) FROM events": RUNS,
    "SELECT quantile(0.9)(toFloat(properties.price)), median(toFloat(properties.n)) FROM events":
    RUNS,
    "SELECT topK(3)(event), uniqExact(event), sumIf(1, event = 'seen') FROM events": RUNS,
    "SELECT dateTrunc('month', timestamp), formatDateTime(timestamp, '%Y-%m-%d') FROM events": RUNS,
    "SELECT toStartOfInterval(timestamp, toIntervalHour(6)), toDayOfWeek(timestamp) FROM events":
    RUNS,
    "SELECT toTimeZone(timestamp, 'America/New_York'), toUnixTimestamp(timestamp) FROM events":
    RUNS,
    "SELECT JSONExtractString(properties, 'plan'), JSONExtractKeys(properties) FROM events": RUNS,
    "SELECT arrayJoin(JSONExtractArrayRaw(coalesce(properties.items, '[]'))) FROM events": RUNS,
    "SELECT arrayJoin([1, 2, 3]), arrayElement([1, 2], 1), length([1]), has([1], 1)": RUNS,
    "SELECT splitByChar('/', coalesce(properties.$pathname, ''))[2] FROM events": RUNS,
    "SELECT extract(coalesce(properties.$current_url, ''), 'utm=([a-z]+)') FROM events": RUNS,
    "SELECT match(coalesce(properties.$current_url, ''), 'docs') FROM events": RUNS,
    "SELECT parseDateTimeBestEffort('2024-01-01'), toDateTime('2024-01-01 10:00:00')": RUNS,
    "SELECT leadInFrame(event) OVER (PARTITION BY person_id ORDER BY timestamp) FROM events": RUNS,
    "SELECT lagInFrame(event, 1) OVER (PARTITION BY person_id ORDER BY timestamp ROWS BETWEEN "
    "UNBOUNDED PRECEDING AND CURRENT ROW) FROM events": "SPEC",
    "SELECT session.$entry_pathname, session.$session_duration FROM events": RUNS,
    "SELECT avg($session_duration), $channel_type FROM sessions GROUP BY $channel_type": RUNS,
    "SELECT group_0.properties.name, $group_0 FROM events WHERE $group_0 != ''": RUNS,
    "SELECT properties.name FROM groups WHERE index = 0": RUNS,
    "SELECT id, properties.email, created_at FROM persons ORDER BY created_at DESC": RUNS,
    "SELECT id, is_identified FROM persons": 'no column "is_identified"',
    "SELECT pdi.distinct_id FROM persons": 'no column "pdi.distinct_id"',
    "SELECT distinct_id FROM person_distinct_ids": 'no table "person_distinct_ids"',
    "SELECT person_id FROM cohort_people": 'no table "cohort_people"',
    "SELECT event FROM events WHERE person_id IN COHORT 2": "no cohort 2",
    "SELECT event FROM events WHERE person_id IN COHORT 'power users'": "no cohort 'power users'",
    "SELECT * FROM events SAMPLE 0.1": "SAMPLE",
    "SELECT event FROM events ARRAY JOIN [1] AS x": "not supported",
    "SELECT matchesAction('x') FROM events": 'function "matchesAction"',
    "SELECT sparkline(groupArray(1)) FROM events": 'function "sparkline"',
    "SELECT windowFunnel(60)(toDateTime(timestamp), event = 'a') FROM events": RUNS,
}  # fmt: skip


@pytest.mark.parametrize("text", DOCUMENTED)
async def test_a_documented_query_runs_or_is_refused_by_name(asker: Asker, text: str) -> None:
    if DOCUMENTED[text] == RUNS:
        assert (await asker.ask(text, values={"v": 7}))["columns"]
    else:
        error = await asker.refusal(text)
        assert DOCUMENTED[text] in error.detail
        assert error.code == "invalid_sql"
