"""The statement that writes rows of sessions.

A row has the aggregates of its session under the names that `Sessions` gives them, calculated by
the same SQL from all events of the session.

Source: docs/decisions/0026-kept-sessions.md.
"""

from typing import Final

from fanion.events.storage.copies_sql import CountedOnce
from fanion.events.storage.session_rows import WriteRows
from fanion.insights.sessions.kept_views_sql import (
    PAGES,
    SETTINGS,
    VIEWS_MAX,
    add_views,
    with_lists,
)
from fanion.insights.sessions.sql import Reach, Sessions
from fanion.properties.bindings import Bindings

# The fields of sessions that can be computed from a row.
KEPT_FIELDS: Final = (
    *("$session_duration", "$is_bounce", "$entry_pathname", "$exit_pathname", "$channel_type"),
    *("$entry_referring_domain", "$entry_utm_source", "$entry_utm_medium"),
    *("$entry_utm_campaign", "$entry_utm_term", "$entry_utm_content"),
    *("$pageview_count", "$autocapture_count", "$screen_count"),
)
_IS_VIEW: Final = "event IN ('$pageview', '$screen')"

_TOUCHED: Final = """(project_id, toDate32(timestamp)) IN (
           SELECT DISTINCT project_id, toDate32(arrayJoin(range(toInt32(toDate32(first)),
                                                                toInt32(toDate32(last)) + 1)))
             FROM session_touches
            WHERE run = {run:UUID})
       AND (project_id, session_id) IN (
           SELECT project_id, session_id
             FROM session_touches
            WHERE run = {run:UUID})"""


def write_statement(views_max: int = VIEWS_MAX) -> WriteRows:
    """Return the statement that writes the rows of the sessions touched in `run`.

    Args:
        views_max: The views of a session with more of them are not listed.
    """
    once, bind = CountedOnce(by_key=False), Bindings()
    sessions = Sessions(bind, "1", Reach("", "", "", whole=True), once)
    sessions.column("who", "person_id")
    sessions.column("is_view", _IS_VIEW)
    sessions.aggregate("views", once.count("is_view"))
    sessions.aggregate("whos", "groupUniqArrayIf(who, is_view)")
    for field in KEPT_FIELDS:
        sessions.value(field)
    names = ["project_id", "session_id", *sessions.names]
    add_views(sessions, views_max)
    rows, lists = with_lists(sessions.grouped("project_id, session_id", _TOUCHED), views_max)
    columns = [*names, *PAGES.columns, *SETTINGS.columns, "version"]
    expressions = [*names, *lists, "{version:UInt64}"]
    text = (
        f"INSERT INTO session_rows ({', '.join(columns)})\n"
        f"SELECT {', '.join(expressions)} FROM {rows}"
    )
    return WriteRows(text, bind.values)
