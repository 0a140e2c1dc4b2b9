"""The maintenance of the rows of sessions: new events of a session replace its row.

After a mutation, which may have erased any event or changed any person, all rows are deleted and
filled again, some days at a time.

Source: docs/decisions/0026-kept-sessions.md.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple
from uuid import uuid4

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Lanes, Rows, read_rows
from fanion.events.storage.session_rows_sql import (
    BEFORE_ALL_DAYS,
    DAY,
    EMPTY,
    FACTS,
    IS_NEW,
    Facts,
    RowsState,
    facts_of,
)

# How many events one step reads for the ids of their sessions.
EVENTS_MAX: Final = 250_000
# How many days with events one step fills.
DAYS_MAX: Final = 400
SESSION_ID: Final = "ifNull(toString(attributes.`$session_id`), '')"
# A version is made of the number of an insert and a day, counted from 1900, of which there are
# 146,097.
_DAY_BITS: Final = 20

_WRITE_STATE = """
  INSERT INTO session_rows_state
    (version, events_table, last_insert, last_mutation, step, filled_to)
  SELECT max(version) + 1, {events_table:String}, {last_insert:Int64}, {last_mutation:Int64},
         {step:String}, {filled_to:Int32}
    FROM session_rows_state
"""
_DAYS = f"""
  SELECT {DAY} AS day, count()
    FROM events
   WHERE day > {{filled_to:Int32}}
GROUP BY day
ORDER BY day
   LIMIT {{limit:UInt64}}
"""
_IS_OF_DAYS: Final = f"{DAY} > {{filled_to:Int32}} AND {DAY} <= {{upto:Int32}}"
_COUNT_NEW: Final = f"SELECT count() FROM events WHERE {IS_NEW}"

_TOUCH: Final = f"""
  INSERT INTO session_touches (run, project_id, session_id, first, last)
  SELECT {{run:UUID}}, project_id, {SESSION_ID} AS session_id, min(timestamp), max(timestamp)
    FROM events
   WHERE WHERE_EVENTS
     AND session_id != ''
     AND cityHash64(session_id) % {{shares:UInt64}} = {{share:UInt64}}
GROUP BY project_id, session_id
"""
# All earlier events of a session are between the ends of its row.
_TOUCH_ROWS: Final = """
  INSERT INTO session_touches (run, project_id, session_id, first, last)
  SELECT {run:UUID}, project_id, session_id, started, ended
    FROM session_rows FINAL
   WHERE (project_id, session_id) IN (
         SELECT project_id, session_id FROM session_touches WHERE run = {run:UUID})
"""
_FORGET: Final = "ALTER TABLE session_touches DROP PARTITION {run:String}"
_FORGET_ALL: Final = "TRUNCATE TABLE session_touches"


class WriteRows(NamedTuple):
    """A statement that calculates the rows of the sessions touched in `run`.

    It writes them under `version`.

    Attributes:
        values: Further values that it binds.
    """

    text: str
    values: Mapping[str, Any]


class SessionRows:
    """The maintenance of the rows of sessions, in short steps, each of which may be interrupted.

    Args:
        lanes: Threads for jobs.
    """

    def __init__(self, lanes: Lanes, write_rows: WriteRows, events_max: int = EVENTS_MAX) -> None:
        self._lanes = lanes
        self._write_rows = write_rows
        self._events_max = events_max
        self._has_begun = False

    async def step(self) -> bool:
        """Do the next step, and return whether there is more to do at once.

        Raises:
            EventStoreUnavailable: The event store failed.
            StatementFailed: A step needs too much.
        """
        if not self._has_begun:
            await self._lanes.run(_command, _FORGET_ALL, {})  # of runs that were interrupted
            self._has_begun = True
        facts, state = await self._lanes.run(read_facts)
        if not facts.is_local or facts.is_pending:
            return False
        if not state.follows(facts):
            await self._write(_begun(facts))
            return True
        if state.step == "empty":
            await self._lanes.run(_command, EMPTY, {})
            await self._write(replace(state, step="fill"))
            return True
        return await (self._fill(state) if state.step == "fill" else self._follow(facts, state))

    async def _fill(self, state: RowsState) -> bool:
        """Write the rows of sessions of the next days."""
        bound = {"filled_to": state.filled_to, "limit": DAYS_MAX}
        days = await self._lanes.run(read_rows, _DAYS, bound)
        if not days:
            await self._write(replace(state, step="follow"))
            return True
        upto, number = _next_days(days, self._events_max)
        day = upto - BEFORE_ALL_DAYS
        await self._calculate(_IS_OF_DAYS, {**bound, "upto": upto}, number, state.last_insert, day)
        await self._write(replace(state, filled_to=upto))
        return True

    async def _follow(self, facts: Facts, state: RowsState) -> bool:
        """Write the rows of sessions with new events."""
        if state.last_insert == facts.last_insert:
            return False
        bound = {"last_insert": state.last_insert}
        [(number,)] = await self._lanes.run(read_rows, _COUNT_NEW, bound)
        await self._calculate(IS_NEW, bound, number, facts.last_insert, 0)
        await self._write(replace(state, last_insert=facts.last_insert))
        return True

    async def _calculate(
        self, where: str, bound: Mapping[str, Any], number: int, last_insert: int, day: int
    ) -> None:
        """Write the rows of all sessions of some events, a share of the sessions at a time."""
        shares = -(-max(number, 1) // self._events_max)
        for share in range(shares):
            version = (last_insert << _DAY_BITS) + day
            more = {"run": uuid4(), "shares": shares, "share": share, "version": version}
            await self._calculate_share(where, {**bound, **more})

    async def _calculate_share(self, where: str, bound: Mapping[str, Any]) -> None:
        text, values = self._write_rows
        for statement in (_TOUCH.replace("WHERE_EVENTS", where), _TOUCH_ROWS, text):
            await self._lanes.run(_command, statement, {**values, **bound})
        await self._lanes.run(_command, _FORGET, {"run": str(bound["run"])})

    async def _write(self, state: RowsState) -> None:
        await self._lanes.run(
            _command,
            _WRITE_STATE,
            {
                "events_table": state.events_table,
                "last_insert": state.last_insert,
                "last_mutation": state.last_mutation,
                "step": state.step,
                "filled_to": state.filled_to,
            },
        )


def _begun(facts: Facts) -> RowsState:
    """Return the state before any row is written."""
    return RowsState(
        facts.events_table, facts.last_insert, facts.last_mutation, "empty", BEFORE_ALL_DAYS
    )


def _next_days(days: Rows, events_max: int) -> tuple[int, int]:
    """Return the last of the next days, which have at most so many events, and their number."""
    upto, number = days[0]
    for day, events in days[1:]:
        if number + events > events_max:
            break
        upto, number = day, number + events
    return upto, number


def read_facts(client: Client) -> tuple[Facts, RowsState]:
    [row] = client.query(FACTS).result_rows
    return facts_of(row)


def _command(client: Client, statement: str, parameters: Mapping[str, Any]) -> None:
    client.command(statement, dict(parameters))
