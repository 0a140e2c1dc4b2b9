"""The user of a ClickHouse server for SQL that people write: row policies hide other projects.

The guard of such SQL gives each table the project's rows. With this user the server does so too.

Source: insights.md, section 10b.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.errors import StartRefused
from fanion.events.storage.client import (
    READ_SETTINGS,
    Engine,
    Lanes,
    apply_settings,
    close,
    open_error,
)
from fanion.events.storage.marks import is_same_store

SETTING: Final = "FANION_EVENTS_SQL_URL"
# A setting of the operator's own, which row policies compare with the project of a row. A server
# lets statements set those whose name begins with `custom_settings_prefixes`, by default SQL_.
PROJECT: Final = "SQL_fanion_project_id"
# Tables whose rows have a project. Of the others, the members of static cohorts are found by a run
# alone, whose id nobody can guess.
TABLES: Final = (
    "events",
    "events_by_distinct_id",
    "persons",
    "person_overrides",
    "groups",
    "session_rows",
    "session_touches",
    "property_uses",
)
# No project has this id.
_NOWHERE: Final = 0
_WRITE: Final = "INSERT INTO persons SELECT * FROM persons WHERE 0"
# Codes by which a server says that a user lacks a right, or may only read.
_NO_WRITES: Final = frozenset((164, 497))
_UNKNOWN_SETTING: Final = 115
_NO_SETTING: Final = f"the server does not take {PROJECT}; custom_settings_prefixes needs SQL_"
_DOCS: Final = "see docs/sql.md, Row policies"


class SqlUser:
    """The connections of the user by whom the event store runs SQL of people.

    Args:
        engine: The engine, with this user's login.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.lanes = Lanes("sql")

    def open(self, number: int, own: Client | None = None) -> None:
        """Connect a number of clients, and check that row policies hide every project from them.

        Args:
            own: A client of the event store, which must be the same one; None for no check.

        Raises:
            EventStoreUnavailable: The server does not answer.
            StartRefused: It refuses the user, or shows the user what it must not.
        """
        clients: list[Client] = []
        try:
            clients.extend(self.engine.connect() for _ in range(number))
            for client in clients:
                apply_settings(client, READ_SETTINGS)
            problems = find_problems(clients[0])
            if own is not None and not is_same_store(own, clients[0]):
                problems = ["it is another event store than that of FANION_EVENTS_URL"]
        except (ClickHouseError, OSError) as error:
            close(clients)
            if getattr(error, "code", None) == _UNKNOWN_SETTING:
                raise StartRefused(f"{SETTING}: {_NO_SETTING}: {_DOCS}") from None
            raise open_error(self.engine, error, SETTING) from None
        if problems:
            close(clients)
            raise StartRefused(f"{SETTING}: {'; '.join(problems)}: {_DOCS}")
        self.lanes.open(clients)


def of_project(project_id: int) -> Mapping[str, int | str]:
    """Return the settings with which a statement sees only the rows of a project.

    A server reads a setting of this kind as a literal; a bare number is none. The statement itself
    can set none.
    """
    return {PROJECT: f"'{project_id}'", "readonly": 1}


def find_problems(client: Client) -> Sequence[str]:
    """Return what the user may do that it must not, for a person to read.

    Raises:
        ClickHouseError: The server refuses the user, the setting or a table.
    """
    found = [f"the user sees rows of every project in {name}" for name in _shown(client)]
    if _may_write(client):
        found.append("the user may write")
    return found


def _shown(client: Client) -> Sequence[str]:
    """Return the tables that show rows to a statement of a project that does not exist."""
    existing = client.query("SELECT name FROM system.tables WHERE database = currentDatabase()")
    names = {str(name) for (name,) in existing.result_rows}
    return [name for name in TABLES if name in names and _shows_rows(client, name)]


def _shows_rows(client: Client, table: str) -> bool:
    answer = client.query(f"SELECT 1 FROM {table} LIMIT 1", settings=dict(of_project(_NOWHERE)))
    return bool(answer.result_rows)


def _may_write(client: Client) -> bool:
    """Return whether the user has the right to insert, by an insert of no rows."""
    try:
        client.command(_WRITE, settings={**of_project(_NOWHERE), "readonly": 0})
    except ClickHouseError as error:
        if getattr(error, "code", None) in _NO_WRITES:
            return False
        raise
    return True
