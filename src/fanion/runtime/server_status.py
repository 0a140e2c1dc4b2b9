"""What can be learnt of the server that runs on a data folder, from beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx
import msgspec

from fanion.config import Settings
from fanion.runtime.data_dir import Holder, holder_of

READY_S_MAX = 5.0  # a server that takes longer to say whether it is ready is not well


@dataclass(frozen=True, slots=True)
class RunningServer:
    """holder:  who holds the folder; None when no process does
    checks:  the state of each store, as the server tells; empty when it told nothing
    failure: why it told nothing
    """

    holder: Holder | None = None
    is_ready: bool = False
    checks: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""


class _Ready(msgspec.Struct):
    """What `/_ready` answers."""

    status: str
    checks: dict[str, str]


async def find_server(settings: Settings) -> RunningServer:
    """raises: OSError when the folder does not say who holds it"""
    holder = holder_of(settings)
    if holder is None or not holder.address:
        return RunningServer(holder)
    try:
        async with httpx.AsyncClient(timeout=READY_S_MAX, trust_env=False, verify=False) as client:
            answer = await client.get(f"{holder.address}/_ready")
        ready = msgspec.json.decode(answer.content, type=_Ready)
    except (httpx.HTTPError, httpx.InvalidURL, msgspec.MsgspecError) as error:
        return RunningServer(holder, failure=str(error) or type(error).__name__)
    return RunningServer(holder, ready.status == "ready", ready.checks)
