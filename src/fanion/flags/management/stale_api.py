"""The list of flags that nobody needs any more."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Annotated

from msgspec import Meta, structs

from fanion.errors import Invalid
from fanion.flags.management.permissions import FlagAccess
from fanion.flags.management.schemas import FlagBody, shown
from fanion.flags.storage.list_query import STALE_DAYS_MAX, FlagQuery, StaleReason, stale_reason
from fanion.flags.storage.store import FlagStore
from fanion.projects.request import ManagementRequest
from fanion.rest.pagination import Paged

FLAGS_MAX = 10_000  # of one project, that are looked at

# From project id and now: flag key → when a flag was last asked for.
LastEvaluated = Callable[[int, datetime], Awaitable[Mapping[str, datetime]]]


class StaleFlagBody(FlagBody, kw_only=True):
    """A flag, with why it is in the list."""

    stale_reason: Annotated[
        str, Meta(description="`fully_rolled_out` or `not_evaluated`, the first that holds.")
    ]
    last_evaluated_at: datetime | None


async def nobody_knows(project_id: int, now: datetime) -> Mapping[str, datetime]:
    return {}


async def stale_page(
    request: ManagementRequest,
    store: FlagStore,
    access: FlagAccess,
    last_evaluated: LastEvaluated,
    query: FlagQuery,
    days: int,
) -> Paged[FlagBody]:
    """Of the flags that the query asks for, in its order.

    days: how long a flag must be there, and not asked for, to count as not evaluated
    """
    if not 1 <= days <= STALE_DAYS_MAX:
        raise Invalid(f"This is between 1 and {STALE_DAYS_MAX}.", attr="stale_days")
    project_id, now, page = request.project.id, request.app.state.now(), request.page
    flags, _ = await store.find(project_id, query, now, FLAGS_MAX, 0)
    last = await last_evaluated(project_id, now)
    found: list[FlagBody] = []
    for flag in flags:
        asked = last.get(flag.definition.key)
        reason = stale_reason(flag, asked, now, days)
        if reason is not None:
            found.append(_with_reason(shown(flag, access), reason, asked))
    return page.of(found[page.offset : page.offset + page.limit], len(found))


def _with_reason(
    body: FlagBody, reason: StaleReason, last_evaluated: datetime | None
) -> StaleFlagBody:
    return StaleFlagBody(
        **structs.asdict(body), stale_reason=reason.value, last_evaluated_at=last_evaluated
    )
