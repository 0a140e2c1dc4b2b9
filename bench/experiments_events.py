"""The calls of a flag by the persons of `insights_events`, in the last days before its END.

    python -m bench.experiments_events DATA EVENTS PROJECT

DATA is the folder of a server that does not run.
"""

import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from bench.insights_events import END, PERSONS
from fanion.events.storage.client import engine_at, open_clients

KEY: Final = "checkout"
DAYS: Final = timedelta(days=30)
VARIANTS: Final = {"control": 34, "test": 33, "third": 33}
CALLS: Final = 3  # of each person; half of them only call once

PERSON: Final = """
  toUUID(UUIDNumToString(toFixedString(unhex(concat('0187f3a000000000',
    leftPad(hex(who), 16, '0'))), 16)))
"""
_STORE = f"""
  INSERT INTO events
    (project_id, uuid, event, distinct_id, person_id, timestamp, received_at, properties)
  SELECT {{project:UInt64}}, reinterpretAsUUID(sipHash128(number, 'call')),
         '$feature_flag_called', concat('user-', toString(who)), {PERSON}, time, time,
         concat('{{"$feature_flag":"{KEY}","$feature_flag_response":"', variant, '"}}')
    FROM (SELECT number,
                 intDiv(number, {CALLS}) AS who,
                 fromUnixTimestamp64Micro(({{start:Int64}}
                   + cityHash64(number, 21) % {{seconds:UInt64}}) * 1000000, 'UTC') AS time,
                 cityHash64(who, 22) % 100 AS place,
                 multiIf(place < 34, 'control', place < 67, 'test', 'third') AS variant
            FROM numbers({{calls:UInt64}})
           WHERE number % {CALLS} = 0 OR cityHash64(number, 23) % 2 = 0)
"""


def make_exposures(data: Path, events: int, project: int) -> None:
    values = {
        "project": project,
        "start": int((END - DAYS).timestamp()),
        "seconds": int(DAYS.total_seconds()),
        "calls": persons_of(events) * CALLS,
    }
    store_events(data, _STORE, values)


def persons_of(events: int) -> int:
    """Return how many persons an event store of this size has."""
    return min(PERSONS, max(1000, events // 40))


def store_events(data: Path, statement: str, values: Mapping[str, int]) -> None:
    """Run a statement in the event store of a server that does not run."""
    inserts, reads = open_clients(engine_at(f"chdb://{data}/events"))
    try:
        inserts[0].command(statement, dict(values))
    finally:
        for client in (*inserts, *reads):
            client.close()


if __name__ == "__main__":
    make_exposures(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
