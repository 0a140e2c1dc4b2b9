"""The tools of assistants, each with its operation of the HTTP API."""

from collections.abc import Mapping, Sequence
from typing import Final

from fanion.mcp import arguments
from fanion.mcp.model import CURRENT_KEY, NoArguments, Tool
from fanion.projects.auth.model import ALL_SCOPES, allows

INSTRUCTIONS = """\
Fanion holds product analytics (events, persons, insights), feature flags and experiments.
Look at list_event_definitions and list_property_definitions before you ask about events: names are
exact. run_query answers trends, funnels, retention and the like; run_sql answers what they do not.
Dates are in the project's time zone. An answer that was cut begins with a note. Before update_flag
read the flag with get_flag, and tell the user what you are about to change."""

_PROJECT = "/api/projects/{project_id}/"
_NEXT_PAGE = "Ask for the next with `offset`, or for fewer with `limit` or `search`."
_FLAG_COLUMNS = ("id", "key", "name", "active", "rollout_percentage", "tags", "created_at")
_QUERIES = """\
Answer a question about events. Each has `dateRange`, such as {"date_from": "-30d"}, and `series`, a
list of {"kind": "EventsNode", "event": "signed up"}; an event of null is every event. Kinds:
- TrendsQuery: `interval` (hour, day, week, month); a series may have `math` (total, dau,
  weekly_active, unique_session, or sum, avg, min, max, median, p90, p95, p99 with `math_property`);
  `breakdownFilter` {"breakdown": "plan", "breakdown_type": "event" or "person"}.
- FunnelsQuery: the series are its steps; `funnelsFilter` {"funnelWindowInterval": 14,
  "funnelWindowIntervalUnit": "day"}.
- RetentionQuery: no series; `retentionFilter` {"targetEntity": {"id": "signed up", "type":
  "events"}, "returningEntity": {…}, "period": "Week", "totalIntervals": 8}.
- StickinessQuery, LifecycleQuery (one series), PathsQuery (`pathsFilter`).
- WebOverviewQuery, WebStatsTableQuery (`breakdownBy`: "Page", "InitialReferringDomain", …).
`properties` is a list of conditions: {"key": "plan", "value": ["pro"], "operator": "exact",
"type": "event" or "person"}; `filterTestAccounts` leaves out the team."""
_SQL = """\
Run one SELECT in ClickHouse's dialect; it can only read this project. Tables: events (uuid, event,
timestamp, distinct_id, person_id, properties.NAME, person.properties.NAME, session.…), persons
(id, created_at, properties.NAME), groups, sessions, cohorts. Properties are texts:
toFloat(properties.price). Restrict `timestamp`, for instance timestamp > now() - interval 7 day.
Without LIMIT there are 100 rows. `person_id in cohort 3` are the members of a cohort. A wrong
statement is refused with its line and column."""

_TOOLS: Final[Sequence[Tool]] = (
    Tool(
        name="get_key",
        title="Get API key",
        description="Return the scopes and the expiry of the personal API key of this connection.",
        arguments=NoArguments,
        method="GET",
        path=CURRENT_KEY,
        scope=None,
    ),
    Tool(
        name="list_projects",
        title="List projects",
        description="List the projects of the key's owner, with their ids and time zones.",
        arguments=arguments.ProjectsArguments,
        method="GET",
        path="/api/projects/",
        scope="project:read",
        columns=("id", "name", "timezone", "organization", "created_at", "events_kept_days"),
        more=_NEXT_PAGE,
    ),
    Tool(
        name="list_flags",
        title="List feature flags",
        description="List feature flags, newest first. get_flag has the conditions of one.",
        arguments=arguments.FlagsArguments,
        method="GET",
        path=f"{_PROJECT}feature_flags/",
        scope="feature_flag:read",
        columns=_FLAG_COLUMNS,
        more=_NEXT_PAGE,
    ),
    Tool(
        name="get_flag",
        title="Get a feature flag",
        description="Return a flag with its conditions, variants, payloads and version.",
        arguments=arguments.FlagArguments,
        method="GET",
        path=f"{_PROJECT}feature_flags/{{flag_id}}/",
        scope="feature_flag:read",
        version_header="x-flag-version",
    ),
    Tool(
        name="create_flag",
        title="Create a feature flag",
        description="Create a feature flag, disabled unless `active` is true.",
        arguments=arguments.NewFlagArguments,
        method="POST",
        path=f"{_PROJECT}feature_flags/",
        scope="feature_flag:write",
        version_header="x-flag-version",
    ),
    Tool(
        name="update_flag",
        title="Update a feature flag",
        description="Enable, disable, roll out, change or delete a flag; it takes effect at once. "
        "Fields that are not given stay. `filters` are replaced as a whole: send those of "
        "get_flag with your change.",
        arguments=arguments.FlagChangeArguments,
        method="PATCH",
        path=f"{_PROJECT}feature_flags/{{flag_id}}/",
        scope="feature_flag:write",
        version_header="x-flag-version",
        destroys=True,
    ),
    Tool(
        name="evaluate_flags",
        title="Evaluate feature flags",
        description="Return the value that a person gets for each flag, with the reason. Nothing "
        "is counted.",
        arguments=arguments.EvaluationArguments,
        method="GET",
        path=f"{_PROJECT}feature_flags/evaluation_reasons/",
        scope="feature_flag:read",
    ),
    Tool(
        name="list_event_definitions",
        title="List events of the schema",
        description="List the names of events that were captured, with descriptions, those seen "
        "last first.",
        arguments=arguments.SearchArguments,
        method="GET",
        path=f"{_PROJECT}event_definitions/",
        scope="event_definition:read",
        columns=("name", "description", "tags", "last_seen_at", "verified", "hidden"),
        more=_NEXT_PAGE,
    ),
    Tool(
        name="list_property_definitions",
        title="List properties of the schema",
        description="List the properties of events, by name, with their types.",
        arguments=arguments.PropertiesArguments,
        method="GET",
        path=f"{_PROJECT}property_definitions/",
        scope="property_definition:read",
        columns=("name", "property_type", "is_numerical", "description"),
        more=_NEXT_PAGE,
    ),
    Tool(
        name="list_property_values",
        title="List values of a property",
        description="List the most frequent values of a property of events of the last 30 days.",
        arguments=arguments.ValuesArguments,
        method="GET",
        path=f"{_PROJECT}events/values/",
        scope="event:read",
    ),
    Tool(
        name="run_query",
        title="Ask an insight",
        description=_QUERIES,
        arguments=arguments.QueryArguments,
        method="POST",
        path=f"{_PROJECT}query/",
        scope="query:read",
        more="Ask for a shorter date range, a longer interval, or fewer values of the breakdown "
        "(`breakdown_limit`).",
    ),
    Tool(
        name="run_sql",
        title="Run SQL",
        description=_SQL,
        arguments=arguments.SqlArguments,
        method="POST",
        path=f"{_PROJECT}query/",
        scope="query:read",
        body=lambda values: {"query": {"kind": "HogQLQuery", "query": values["sql"]}},
        more="Ask for fewer columns, aggregate, or page with LIMIT and OFFSET.",
    ),
    Tool(
        name="list_insights",
        title="List saved insights",
        description="List saved insights. get_insight has the question and the numbers of one.",
        arguments=arguments.SearchArguments,
        method="GET",
        path=f"{_PROJECT}insights/",
        scope="insight:read",
        fixed={"basic": "true", "saved": "true"},
        columns=("id", "short_id", "name", "description", "dashboards", "last_modified_at"),
        more=_NEXT_PAGE,
    ),
    Tool(
        name="get_insight",
        title="Get a saved insight",
        description="Return the question of a saved insight and its result.",
        arguments=arguments.InsightArguments,
        method="GET",
        path=f"{_PROJECT}insights/{{insight_id}}/",
        scope="insight:read",
        more="Ask its question with run_query for a shorter date range.",
    ),
    Tool(
        name="list_dashboards",
        title="List dashboards",
        description="List dashboards. get_dashboard has the insights of one.",
        arguments=arguments.PageArguments,
        method="GET",
        path=f"{_PROJECT}dashboards/",
        scope="dashboard:read",
        columns=("id", "name", "description", "pinned", "tags", "created_at"),
        more=_NEXT_PAGE,
    ),
    Tool(
        name="get_dashboard",
        title="Get a dashboard",
        description="Return the insights and texts on a dashboard, without results: get_insight "
        "has them.",
        arguments=arguments.DashboardArguments,
        method="GET",
        path=f"{_PROJECT}dashboards/{{dashboard_id}}/",
        scope="dashboard:read",
        fixed={"basic": "true"},
    ),
    Tool(
        name="find_persons",
        title="Find persons",
        description="Find persons by a text or by conditions on their properties, newest first.",
        arguments=arguments.PersonsArguments,
        method="GET",
        path=f"{_PROJECT}persons/",
        scope="person:read",
        columns=("id", "name", "distinct_ids", "properties", "created_at", "is_identified"),
        more=_NEXT_PAGE,
    ),
    Tool(
        name="list_events",
        title="List events",
        description="List single events, newest first: those of a person, of a name, of a time.",
        arguments=arguments.EventsArguments,
        method="GET",
        path=f"{_PROJECT}events/",
        scope="event:read",
        columns=("id", "event", "timestamp", "distinct_id", "properties"),
        more="Ask for older ones with `before`, or for fewer with `limit`.",
    ),
    Tool(
        name="list_cohorts",
        title="List cohorts",
        description="List cohorts with their ids and numbers of members.",
        arguments=arguments.SearchArguments,
        method="GET",
        path=f"{_PROJECT}cohorts/",
        scope="cohort:read",
        fixed={"basic": "true"},
        columns=("id", "name", "description", "count", "is_static", "last_calculation"),
        more=_NEXT_PAGE,
    ),
    Tool(
        name="list_experiments",
        title="List experiments",
        description="List experiments with their flags and latest verdicts.",
        arguments=arguments.ExperimentsArguments,
        method="GET",
        path=f"{_PROJECT}experiments/",
        scope="experiment:read",
        columns=("id", "name", "description", "status", "start_date", "end_date", "latest_verdict"),
        more=_NEXT_PAGE,
    ),
    Tool(
        name="get_experiment",
        title="Get an experiment",
        description="Return an experiment with its flag, variants and metrics.",
        arguments=arguments.ExperimentArguments,
        method="GET",
        path=f"{_PROJECT}experiments/{{experiment_id}}/",
        scope="experiment:read",
    ),
    Tool(
        name="get_experiment_results",
        title="Get the results of an experiment",
        description="Return who was exposed, what each variant did, and the verdict in words.",
        arguments=arguments.ExperimentArguments,
        method="GET",
        path=f"{_PROJECT}experiments/{{experiment_id}}/results/",
        scope="experiment:read",
    ),
)
TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _TOOLS}


def allowed_tools(scopes: Sequence[str] | None) -> list[Tool]:
    """Return the tools that a key may call.

    Args:
        scopes: Those of the key; None allows everything.
    """
    return [
        tool
        for tool in _TOOLS
        if scopes is None
        or ALL_SCOPES in scopes
        or tool.scope is None
        or allows(scopes, tool.scope)
    ]
