"""The statement that writes rows of sessions.

A row has the aggregates of its session under the names that `Sessions` gives them, calculated by
the same SQL from all events of the session.

Source: docs/decisions/0026-kept-sessions.md.
"""

from typing import Final

from fanion.events.storage.copies_sql import CountedOnce
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


def write_statement() -> str:
    """Return the statement that writes the rows of the sessions touched in `run`."""
    once = CountedOnce(by_key=False)
    sessions = Sessions(Bindings(), "1", Reach("", "", "", whole=True), once)
    sessions.column("who", "person_id")
    sessions.column("is_view", _IS_VIEW)
    sessions.aggregate("views", once.count("is_view"))
    sessions.aggregate("whos", "groupUniqArrayIf(who, is_view)")
    for field in KEPT_FIELDS:
        sessions.value(field)
    names = ", ".join(sessions.names)
    rows = sessions.grouped("project_id, session_id", _TOUCHED)
    return (
        f"INSERT INTO session_rows (project_id, session_id, {names}, version)\n"
        f"SELECT *, {{version:UInt64}} FROM ({rows})"
    )
