"""Questions that commands ask the server which runs on the data folder."""

from typing import TypeVar

import httpx
import msgspec

T = TypeVar("T")


class NoAnswer(Exception):
    """A server that did not answer, or not as asked; the text says why."""


async def ask_server(address: str, path: str, kind: type[T], wait_s: float) -> T:
    """Return the answer of the server at this address, as its lock names it.

    Raises:
        NoAnswer: There was none in time, or none of this kind.
    """
    try:
        async with httpx.AsyncClient(timeout=wait_s, trust_env=False, verify=False) as client:
            answer = await client.get(f"{address}{path}")
        return msgspec.json.decode(answer.content, type=kind)
    except (httpx.HTTPError, httpx.InvalidURL, msgspec.MsgspecError) as error:
        raise NoAnswer(str(error) or type(error).__name__) from error
