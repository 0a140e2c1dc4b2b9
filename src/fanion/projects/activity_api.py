"""The activity log of a project over HTTP, in the same form for all endpoints that return it.

Source: flags.md, section 14; cohorts.md, section 24.
"""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.activity.model import Change, Trigger
from fanion.activity.store import ACCOUNTS, SYSTEM, ActivityFilters, StoredActivity, page
from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.projects.model import Level
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_time_parameter
from fanion.rest.pagination import NUMBER_CHARS_MAX
from fanion.rest.posthog_fields import ACTIVITY_SCOPES
from fanion.rest.unknown_fields import no_choice

ENTRIES = 10
ENTRIES_MAX = 1_000  # per page; larger limits are reduced to this one
PAGE_MAX = 1_000_000
# The fields of entries about accounts that say where somebody is.
ADDRESSES = frozenset({"address", "addresses"})


class ActivityUser(Struct, kw_only=True, omit_defaults=True):
    first_name: str
    email: str | None
    is_system: Annotated[
        bool | UnsetType, Meta(description="True for a change by the server itself, else absent.")
    ] = UNSET


class ActivityDetail(Struct, kw_only=True):
    name: Annotated[str, Meta(description="Name of the item after the change.")]
    changes: list[Change] | None
    short_id: Annotated[str | None, Meta(description="Only for an insight, else null.")]
    trigger: Annotated[
        Trigger | None, Meta(description="The automation that made the change; null for a user.")
    ]
    type: None = None


class ActivityEntry(Struct, kw_only=True):
    user: ActivityUser
    activity: Annotated[
        str,
        Meta(
            description="`created`, `updated`, `deleted`, `imported`: a file for a cohort, "
            "`people_merged_into`: persons by request, whose ids are in `changes`, `split_person`: "
            "distinct ids as new persons, whose ids are in `changes`, or `exported`: the data of a "
            "person as one file. With the scope "
            "`User`, what happened at an account: `logged_in` and others."
        ),
    ]
    scope: Annotated[str, Meta(description="The kind of the item, such as `FeatureFlag`.")]
    item_id: str
    detail: ActivityDetail
    created_at: datetime


class ActivityPage(Struct, kw_only=True):
    results: list[ActivityEntry]
    next: Annotated[str | None, Meta(description="Address of the next page.")]
    previous: Annotated[str | None, Meta(description="Address of the previous page.")]
    total_count: int


async def activity_page(
    request: ManagementRequest,
    records: Records,
    scope: str | None = None,
    item_id: str | None = None,
    filters: ActivityFilters | None = None,
) -> ActivityPage:
    """Return the entries that the request's `page` and `limit` ask for, newest first.

    Viewers do not see what happens at the accounts of others. Only administrators see the addresses
    from which others sign in.
    """
    principal, project = request.principal, request.project
    level = principal.level_in(project.organization_id)
    is_viewer = level < Level.MEMBER
    own = None if level >= Level.ADMIN else str(principal.user.uuid)
    only_account = principal.user.uuid if is_viewer else None
    query = dict(request.page.query)
    number, limit = (
        _positive_number(query.get("page"), 1, PAGE_MAX),
        _positive_number(query.get("limit"), ENTRIES),
    )
    entries, total = await page(
        records, project.id, limit, (number - 1) * limit, scope, item_id, only_account, filters
    )
    return ActivityPage(
        results=[_entry_response(_without_addresses(entry, own)) for entry in entries],
        next=_page_link(request, number + 1, limit) if number * limit < total else None,
        previous=_page_link(request, number - 1, limit) if number > 1 else None,
        total_count=total,
    )


def _without_addresses(entry: StoredActivity, own: str | None) -> StoredActivity:
    """Remove the addresses of clients from an entry about somebody else's account.

    Args:
        own: The id of the caller's account; None for an administrator, who sees all addresses.
    """
    if own is None or entry.scope != ACCOUNTS or entry.item_id == own or not entry.changes:
        return entry
    return replace(entry, changes=[each for each in entry.changes if each.field not in ADDRESSES])


class ActivityApi(Controller):
    path = "/api/projects/{project_id:str}/activity_log"
    tags = ("Activity",)
    opt = scoped("activity_log")

    @get("/", summary="List the activity of a project")
    async def activity(
        self,
        request: ManagementRequest,
        records: NamedDependency[Records],
        kind: Annotated[str | None, QueryParameter(name="scope")] = None,
        item_id: FromQuery[str | None] = None,
        scopes: FromQuery[str | None] = None,
        user: FromQuery[str | None] = None,
        activity: FromQuery[str | None] = None,
        search: FromQuery[str | None] = None,
        since: FromQuery[str | None] = None,
        until: FromQuery[str | None] = None,
    ) -> ActivityPage:
        """Return the entries, newest first. `page` starts at 1, and `limit` is 10 by default.

        `scope` and `item_id` filter the entries; so do `scopes`, separated by commas, `user` (a
        UUID, or `system` for the server itself), `activity`, `search` (a part of the name of the
        item, or of a changed value), `since` and `until` (a date or a relative one such as `-7d`).
        Viewers see no sign-ins of others, and only administrators the addresses of others.
        """
        kinds = tuple(filter(None, (scopes or "").split(",")))
        for each in (*kinds, *([kind] if kind else [])):
            if each not in ACTIVITY_SCOPES:
                raise no_choice(each, ACTIVITY_SCOPES, "scopes" if each in kinds else "scope")
        now = request.app.state.now()
        filters = ActivityFilters(
            scopes=kinds,
            user=_read_user(user),
            activity=activity or None,
            text=search or None,
            since=read_time_parameter(since, "since", now),
            until=read_time_parameter(until, "until", now),
        )
        return await activity_page(request, records, kind, item_id, filters)


def _read_user(text: str | None) -> UUID | Literal["system"] | None:
    """Parse the author of entries, or raise Invalid."""
    if not text:
        return None
    if text == SYSTEM:
        return SYSTEM
    try:
        return UUID(text)
    except ValueError:
        raise Invalid("Enter the UUID of a user, or system.", attr="user") from None


def _entry_response(entry: StoredActivity) -> ActivityEntry:
    return ActivityEntry(
        user=_user_response(entry),
        activity=entry.activity,
        scope=entry.scope,
        item_id=entry.item_id,
        detail=ActivityDetail(
            name=entry.name,
            changes=entry.changes,
            short_id=entry.short_id,
            trigger=entry.trigger,
        ),
        created_at=entry.created_at,
    )


def _user_response(entry: StoredActivity) -> ActivityUser:
    """Return the user of an entry, or the system (cohorts.md, section 24)."""
    if entry.email is None:
        return ActivityUser(first_name="System", email=None, is_system=True)
    return ActivityUser(first_name=entry.first_name or "", email=entry.email)


def _positive_number(text: str | None, otherwise: int, most: int = ENTRIES_MAX) -> int:
    """Parse a number of the query. Text that is not a positive number counts as not given."""
    is_number = text and text.isascii() and text.isdigit() and len(text) <= NUMBER_CHARS_MAX
    number = int(text) if text and is_number else 0
    return min(number, most) if number > 0 else otherwise


def _page_link(request: ManagementRequest, number: int, limit: int) -> str:
    others = [(name, value) for name, value in request.page.query if name not in {"page", "limit"}]
    return f"{request.address}?{urlencode([*others, ('page', number), ('limit', limit)])}"
