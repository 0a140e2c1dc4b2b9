"""Whether the records store answers."""

import asyncio

from fanion.db.engine import RecordsUnavailable, open_records

# At the start flags wait for the store; later there is time to wait for a slow one.
ANSWER_S = 5.0
RETRY_S = 0.5


async def records_answer(url: str) -> bool:
    try:
        async with asyncio.timeout(ANSWER_S):
            records = await open_records(url)
            await records.close()
    except (RecordsUnavailable, TimeoutError):
        return False
    return True


async def until_records_answer(url: str, stop: asyncio.Event) -> None:
    """Or until `stop` is set."""
    stopping = asyncio.ensure_future(stop.wait())
    try:
        while not stopping.done() and not await records_answer(url):
            await asyncio.wait([stopping], timeout=RETRY_S)
    finally:
        stopping.cancel()
