"""The user for whom a request reads, and whether they still wait for the answer."""

from asyncio import Future
from collections.abc import Callable
from contextvars import Context, ContextVar, Token, copy_context
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Asker:
    """The user for whom a request reads.

    Attributes:
        left: Done when the client has disconnected; None if nothing ends with the client.
    """

    user_id: int
    left: "Callable[[], Future[None]] | None" = None


_asker: ContextVar[Asker | None] = ContextVar("asker", default=None)


def current_asker() -> Asker | None:
    """Return the asker; None in background work, for which no client waits."""
    return _asker.get()


def set_asker(asker: Asker | None) -> Token[Asker | None]:
    return _asker.set(asker)


def reset_asker(token: Token[Asker | None]) -> None:
    _asker.reset(token)


def shared_context() -> Context:
    """Return a context for a task that does not end with the client that asked first.

    Others may wait for the same task.
    """
    context, asker = copy_context(), _asker.get()
    if asker is not None:
        context.run(_asker.set, replace(asker, left=None))
    return context
