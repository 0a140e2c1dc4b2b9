"""The state of the rows of sessions, as `fanion doctor` tells it."""

from uuid import uuid4

from fanion.events.event import Event
from fanion.events.storage.inspection import inspect_event_store
from fanion.events.storage.session_rows_sql import FACTS, facts_of, state_text
from fanion.events.storage.store import EventStore, open_events
from fanion.insights.sessions.kept_sql import write_statement
from fanion.runtime.clock import utc_now


def told(url: str) -> str:
    return inspect_event_store(url, None, (utc_now(), utc_now())).session_rows


async def add_event(store: EventStore) -> None:
    now = utc_now()
    event = Event(1, uuid4(), "$pageview", "d", uuid4(), now, now, b'{"$session_id": "s"}')
    await store.insert(store.encoder.batch([event]), uuid4().hex)


async def test_the_state_is_told_while_rows_are_filled_and_after_it(own_events_url: str) -> None:
    store = await open_events(own_events_url)
    await add_event(store)
    rows = store.session_rows(write_statement())

    filling = "are being calculated in the background; until then questions read events"
    assert told(own_events_url) == filling
    while await rows.step():
        pass
    assert told(own_events_url) == "answer questions"
    await add_event(store)
    assert told(own_events_url) == "answer questions, beside the events of the last minutes"
    await store.close()


async def test_there_are_no_rows_of_distributed_events(distributed_events: EventStore) -> None:
    await add_event(distributed_events)

    assert not await distributed_events.session_rows(write_statement()).step()

    columns = (await distributed_events.ask(FACTS, {}, estimated=False)).columns
    facts = facts_of([column[0] for column in columns])
    assert state_text(*facts).startswith("not kept, because events are not in one local table")
