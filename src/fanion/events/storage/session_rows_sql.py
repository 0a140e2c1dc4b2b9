"""The facts by which rows of sessions follow the events: what the engine says about its parts.

Each insert and each mutation of `events` has a number, taken from one counter when it is committed.
A merged part has the numbers of its first and its last insert. So all events that came after some
insert are in parts whose last number is greater, whoever inserted them; erasures and squashes show
as a mutation with a greater number.

Source: docs/decisions/0026-kept-sessions.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

# The number of the last insert into the part of a row of `events`.
LAST_INSERT: Final = "toInt64(splitByChar('_', _part)[3])"
# Mutations that only add columns have a number too, and change no row.
_LAST_MUTATION: Final = """
  maxIf(toInt64(extract(mutation_id, '[0-9]+')), match(command, '^\\(?(DELETE|UPDATE)'))"""
LAST_MUTATION: Final = f"""
  SELECT {_LAST_MUTATION}
    FROM system.mutations
   WHERE database = currentDatabase()
     AND table = 'events'
"""

# What rows hold. Those of a program with another number are calculated again.
ROWS_VERSION: Final = 2
# A part without rows, which a mutation may leave, is removed a while later.
# The number of the last mutation and whether one is pending come from one look at them.
FACTS: Final = f"""
  SELECT events_table, last_insert, last_mutation, is_pending, state
    FROM (SELECT any(concat(engine, ' ', toString(uuid), ' {ROWS_VERSION}')) AS events_table
            FROM system.tables
           WHERE database = currentDatabase()
             AND name = 'events') AS tables,
         (SELECT max(max_block_number) AS last_insert
            FROM system.parts
           WHERE database = currentDatabase()
             AND table = 'events'
             AND active
             AND rows > 0) AS parts,
         (SELECT {_LAST_MUTATION} AS last_mutation,
                 max(NOT is_done AND match(command, '^\\(?(DELETE|UPDATE)')) AS is_pending
            FROM system.mutations
           WHERE database = currentDatabase()
             AND table = 'events') AS mutations,
         (SELECT argMax((session_rows_state.events_table, session_rows_state.last_insert,
                         session_rows_state.last_mutation, step, filled_to), version) AS state
            FROM session_rows_state) AS states
"""
# The day of an event as a number.
DAY: Final = "toInt32(toDate32(timestamp))"
BEFORE_ALL_DAYS: Final = -25_568  # 1899-12-31
EMPTY: Final = "TRUNCATE TABLE session_rows"
IS_NEW: Final = f"{LAST_INSERT} > {{last_insert:Int64}}"

# The steps: rows of an earlier state are still there; days are filled; rows follow inserts.
Step = Literal["empty", "fill", "follow"]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that the engine tells about the table of events.

    Attributes:
        events_table: Its engine, its id, which a restored copy does not share, and the version of
            its rows of sessions.
        last_insert: The number of the last insert.
        last_mutation: The number of the last mutation that changed rows.
        is_pending: Whether such a mutation has not ended.
    """

    events_table: str
    last_insert: int
    last_mutation: int
    is_pending: bool

    @property
    def is_local(self) -> bool:
        """Return whether all events are parts of this one table."""
        return self.events_table.startswith("ReplacingMergeTree ")


@dataclass(frozen=True, slots=True)
class RowsState:
    """The state of the rows of sessions.

    Attributes:
        last_insert: The rows are right for all events up to this insert, once days are filled.
        filled_to: The last day whose sessions have rows, as DAY.
    """

    events_table: str
    last_insert: int
    last_mutation: int
    step: Step
    filled_to: int

    def follows(self, facts: Facts) -> bool:
        """Return whether nothing but inserts has happened to the events since."""
        return (
            facts.is_local
            and self.events_table == facts.events_table
            and self.last_mutation >= facts.last_mutation
            and self.last_insert <= facts.last_insert
        )

    def is_usable(self, facts: Facts) -> bool:
        """Return whether questions may read the rows."""
        return self.step == "follow" and self.follows(facts)


def state_text(facts: Facts, state: RowsState) -> str:
    """Return the state of the rows of sessions, for people."""
    if not facts.is_local:
        return "not kept, because events are not in one local table; questions read events"
    if not state.is_usable(facts):
        return "are being calculated in the background; until then questions read events"
    if state.last_insert < facts.last_insert:
        return "answer questions, beside the events of the last minutes"
    return "answer questions"


def facts_of(row: Sequence[Any]) -> tuple[Facts, RowsState]:
    """Return what a row of FACTS says."""
    table, last_insert, last_mutation, pending, state = row
    facts = Facts(table, last_insert, last_mutation, bool(pending))
    return facts, RowsState(*state)
