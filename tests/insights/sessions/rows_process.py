"""A process that stores events and keeps rows of sessions, until it is killed; or that checks them.

python -m tests.insights.sessions.rows_process store FOLDER SEED
python -m tests.insights.sessions.rows_process check FOLDER
"""

import asyncio
import json
import random
import sys
from datetime import UTC, datetime, timedelta
from uuid import UUID

from fanion.events.event import Event
from fanion.events.storage.client import read_rows
from fanion.events.storage.session_rows import SessionRows
from fanion.events.storage.store import EventStore, open_events
from fanion.insights.sessions.kept_sql import write_statement

NOW = datetime(2024, 4, 3, tzinfo=UTC)
PROJECTS, SESSIONS, BATCH = 2, 60, 20

COMPARED = """
  SELECT count(), countIf(number != 2)
    FROM (SELECT project_id, session_id, started, ended, persons, views, entry, count() AS number
            FROM (SELECT project_id, session_id, started, ended, arraySort(whos) AS persons, views,
                         entry_url AS entry
                    FROM session_rows FINAL
                   UNION ALL
                  SELECT project_id,
                         JSONExtractString(properties, '$session_id') AS session_id,
                         min(timestamp),
                         max(timestamp),
                         arraySort(groupUniqArrayIf(person_id, event = '$pageview')),
                         uniqExactIf(uuid, event = '$pageview'),
                         JSONExtractString(
                             argMin(properties, (event != '$pageview', timestamp, uuid)),
                             '$current_url')
                    FROM events
                GROUP BY project_id, session_id)
        GROUP BY ALL)
"""


async def store(folder: str, seed: int) -> None:
    """Insert batches, some of them twice, while rows are written; print each batch."""
    events = await open_events(f"chdb://{folder}")
    draw = random.Random(seed)
    async with asyncio.TaskGroup() as group:
        group.create_task(_keep(events))
        while True:
            batch = [_event(draw) for _ in range(BATCH)]
            for _ in range(draw.choice((1, 1, 2))):
                token = str(draw.random())
                await events.insert(events.encoder.batch(batch), token)
            print("stored", flush=True)


async def _keep(events: EventStore) -> None:
    rows = SessionRows(events._jobs, write_statement(), events_max=50)
    while True:
        await rows.step()


def _event(draw: random.Random) -> Event:
    at = NOW - timedelta(days=draw.choice((0, 0, 0, 1, 9)), seconds=draw.randrange(80_000))
    session = draw.randrange(SESSIONS)
    own = {"$session_id": f"s{session}", "$current_url": f"https://x.io/{draw.randrange(9)}"}
    uuid, person = UUID(int=draw.getrandbits(128)), UUID(int=session % 7 + 1)
    name = draw.choice(("$pageview", "$autocapture"))
    body = json.dumps(own).encode()
    return Event(draw.randrange(PROJECTS) + 1, uuid, name, "d", person, at, at, body)


async def check(folder: str) -> None:
    """Bring the rows up to date, and print the number of all and of wrong ones.

    A row is wrong unless the events of its session, read at once, give the same.
    """
    events = await open_events(f"chdb://{folder}")
    rows = events.session_rows(write_statement())
    while await rows.step():
        pass
    [row] = await events._jobs.run(read_rows, COMPARED, {})
    print(*row, flush=True)
    await events.close()


if __name__ == "__main__":
    if sys.argv[1] == "store":
        asyncio.run(store(sys.argv[2], int(sys.argv[3])))
    else:
        asyncio.run(check(sys.argv[2]))
