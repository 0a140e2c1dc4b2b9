"""The calls of guarded flags in the last day by the persons of `insights_events`, and orders.

    python -m bench.guards_events DATA EVENTS PROJECT

DATA is the folder of a server that does not run.
"""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from bench.experiments_events import PERSON, persons_of, store_events

FLAG: Final = "guarded-"
GUARDS: Final = 200
SINCE: Final = timedelta(days=1)
_STORE = f"""
  INSERT INTO events
    (project_id, uuid, event, distinct_id, person_id, timestamp, received_at, properties)
  SELECT {{project:UInt64}}, reinterpretAsUUID(sipHash128(who, event, 'guarded')), event,
         concat('user-', toString(who)), {PERSON}, time, time,
         if(event = 'order placed', '{{}}',
            concat('{{"$feature_flag":"{FLAG}', toString(who % {GUARDS}),
                   '","$feature_flag_response":true}}'))
    FROM (SELECT number AS who,
                 arrayJoin(if(cityHash64(who, 24) % 20 = 0,
                              ['$feature_flag_called', 'order placed'],
                              ['$feature_flag_called'])) AS event,
                 {{start:Int64}} + cityHash64(number, 25) % {{seconds:UInt64}} AS called,
                 fromUnixTimestamp64Micro((called + (event = 'order placed')) * 1000000, 'UTC')
                   AS time
            FROM numbers({{persons:UInt64}}))
"""


def make_calls(data: Path, events: int, project: int) -> None:
    seconds = int(SINCE.total_seconds())
    start = int(datetime.now(UTC).timestamp()) - seconds
    values = {
        "project": project,
        "start": start,
        "seconds": seconds - 60,
        "persons": persons_of(events),
    }
    store_events(data, _STORE, values)


if __name__ == "__main__":
    make_calls(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
