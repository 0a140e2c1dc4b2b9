"""Groups and their types in the records store."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    bindparam,
    func,
    insert,
    or_,
    select,
    type_coerce,
    update,
)

from fanion.db.engine import Records
from fanion.db.schema.tables import group_types, groups
from fanion.groups.model import GroupState
from fanion.properties.size import ByteBudget, text_bytes

PORTION_KEYS = 128  # groups read at a time; 64 MB of the largest ones
KEYS_LOCKED = 1_000  # rows locked by one statement
PAGE_BYTES_MAX = 64 * 2**20  # limit of the properties of a page, held in memory as text

_decode = msgspec.json.Decoder().decode
_group = groups.c
_type = group_types.c

_OF_TYPE = (
    select(
        _group.group_key,
        type_coerce(_group.properties, Text).label("text"),  # whose length is the size
        _group.created_at,
        _group.version,
    )
    .where(_group.project_id == bindparam("project_id"))
    .where(_group.group_type_index == bindparam("group_type_index"))
    .where(_group.group_key.in_(bindparam("keys", expanding=True)))
)
_LOCKED = (
    select(_group.group_key, _group.version)
    .where(_group.project_id == bindparam("project_id"))
    .where(_group.group_type_index == bindparam("group_type_index"))
    .where(_group.group_key.in_(bindparam("keys", expanding=True)))
    .order_by(_group.group_key)
    .with_for_update()
)
_UPDATE = (
    update(groups)
    .where(_group.project_id == bindparam("new_project_id"))
    .where(_group.group_type_index == bindparam("new_group_type_index"))
    .where(_group.group_key == bindparam("new_group_key"))
    .values(properties=bindparam("new_properties"), version=bindparam("new_version"))
)
_TYPES = select(_type.group_type, _type.group_type_index).where(
    _type.project_id == bindparam("project_id")
)


async def stored_group_properties(
    records: Records, keys: Sequence[tuple[int, int, str]]
) -> Mapping[tuple[int, int, str], Mapping[str, Any]]:
    """Return the properties of groups.

    Args:
        keys: Triples of (project id, group type index, group key).

    Returns:
        Properties by key; unknown groups are absent.
    """
    by_type: dict[tuple[int, int], list[str]] = {}
    for project_id, index, key in keys:
        by_type.setdefault((project_id, index), []).append(key)
    properties: dict[tuple[int, int, str], Mapping[str, Any]] = {}
    for (project_id, index), some in by_type.items():
        rows = await records.fetch(
            _OF_TYPE, {"project_id": project_id, "group_type_index": index, "keys": some}
        )
        properties.update({(project_id, index, row.group_key): _decode(row.text) for row in rows})
    return properties


def load_types(connection: Connection, project_id: int) -> dict[str, int]:
    """Return the indexes of the project's group types by name."""
    rows = connection.execute(_TYPES, {"project_id": project_id})
    return {row.group_type: row.group_type_index for row in rows}


def load_groups(
    connection: Connection,
    project_id: int,
    keys: Iterable[tuple[int, str]],
    allowance: ByteBudget,
) -> dict[tuple[int, str], GroupState]:
    """Return the stored groups by (index, key), for those that exist.

    Raises:
        ByteBudgetExceeded: The properties exceed the allowance.
    """
    by_index: dict[int, list[str]] = {}
    for index, key in keys:
        by_index.setdefault(index, []).append(key)
    loaded: dict[tuple[int, str], GroupState] = {}
    for index, of_index in by_index.items():
        for start in range(0, len(of_index), PORTION_KEYS):
            some = of_index[start : start + PORTION_KEYS]
            rows = connection.execute(
                _OF_TYPE, {"project_id": project_id, "group_type_index": index, "keys": some}
            )
            for row in rows:
                group = GroupState(_decode(row.text), row.created_at, row.version)
                group.properties_bytes = text_bytes(row.text)
                loaded[index, row.group_key] = group
                allowance.spend(group.properties_bytes)
    return loaded


def write_types(connection: Connection, project_id: int, types: Mapping[str, int]) -> None:
    """Store group types that are seen for the first time.

    Raises:
        IntegrityError: Another writer was first.
    """
    if types:
        rows = [
            {"project_id": project_id, "group_type": name, "group_type_index": index}
            for name, index in types.items()
        ]
        connection.execute(insert(group_types), rows)


def write_groups(
    connection: Connection,
    project_id: int,
    changed: Mapping[tuple[int, str], GroupState],
    expected: Mapping[tuple[int, str], int],
) -> bool:
    """Write groups with their new versions, unless others have changed what they are based on.

    Args:
        changed: By index and key.
        expected: The versions of all stored groups that were read.

    Returns:
        Whether the stored groups were unchanged.

    Raises:
        IntegrityError: Another writer has created one of the groups.
    """
    if not _are_unchanged(connection, project_id, expected):
        return False
    rows = {key: _row_values(project_id, *key, group) for key, group in sorted(changed.items())}
    created = [row for key, row in rows.items() if key not in expected]
    updated = [row for key, row in rows.items() if key in expected]
    if created:
        connection.execute(insert(groups), created)
    if updated:
        connection.execute(
            _UPDATE,
            [
                {f"new_{name}": value for name, value in row.items() if name != "created_at"}
                for row in updated
            ],
        )
    return True


def _are_unchanged(
    connection: Connection, project_id: int, expected: Mapping[tuple[int, str], int]
) -> bool:
    """Return whether the groups have the expected versions; they stay locked in the transaction."""
    by_index: dict[int, list[str]] = {}
    for index, key in sorted(expected):
        by_index.setdefault(index, []).append(key)
    for index, keys in by_index.items():
        for start in range(0, len(keys), KEYS_LOCKED):
            some = keys[start : start + KEYS_LOCKED]
            parameters = {"project_id": project_id, "group_type_index": index, "keys": some}
            stored = {row.group_key: row.version for row in connection.execute(_LOCKED, parameters)}
            if stored != {key: expected[index, key] for key in some}:
                return False
    return True


def _row_values(project_id: int, index: int, key: str, group: GroupState) -> dict[str, Any]:
    return {
        "project_id": project_id,
        "group_type_index": index,
        "group_key": key,
        "properties": group.properties,
        "created_at": group.created_at,
        "version": group.version,
    }


# ── For the API ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Group:
    index: int
    key: str
    properties: Mapping[str, Any]
    created_at: datetime


GroupOrder = Literal["-created_at", "created_at", "group_key", "-group_key"]
GROUP_ORDERS: Final[tuple[GroupOrder, ...]] = get_args(GroupOrder)
NEWEST_FIRST: Final = "-created_at"


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """The groups of a type that are searched, and the page to return.

    Attributes:
        search: Part of the key or of the properties' JSON, in any case of ASCII letters.
    """

    index: int
    search: str = ""
    limit: int = 100
    offset: int = 0
    order: GroupOrder = NEWEST_FIRST


_ORDERS: Mapping[GroupOrder, Sequence[ColumnElement[Any]]] = {
    "-created_at": (_group.created_at.desc(), _group.group_key),
    "created_at": (_group.created_at, _group.group_key),
    "group_key": (_group.group_key,),
    "-group_key": (_group.group_key.desc(),),
}


_PAGE: Select[Any] = select(
    _group.group_type_index,
    _group.group_key,
    type_coerce(_group.properties, Text).label("text"),
    _group.created_at,
)


async def find_groups(
    records: Records, project_id: int, query: GroupQuery, bytes_max: int = PAGE_BYTES_MAX
) -> tuple[list[Group], int]:
    """Return one page of groups, in the order of the query, and the total number.

    The page ends early, after a portion, when the properties exceed `bytes_max`.
    """
    conditions = [_group.project_id == project_id, _group.group_type_index == query.index]
    if query.search:
        conditions.append(_search_condition(query.search))
    page = _PAGE.where(*conditions).order_by(*_ORDERS[query.order])
    page_groups: list[Group] = []
    chars = 0
    async with records.read() as connection:
        total = await connection.scalar(select(func.count()).select_from(groups).where(*conditions))
        while len(page_groups) < query.limit and chars < bytes_max:
            count = min(query.limit - len(page_groups), PORTION_KEYS)
            portion = page.limit(count).offset(query.offset + len(page_groups))
            rows = (await connection.execute(portion)).all()
            chars += sum(len(row.text) for row in rows)
            page_groups += await asyncio.to_thread(
                lambda some: [_read_group(row) for row in some], rows
            )
            if len(rows) < count:
                break
    return page_groups, total or 0


async def groups_behind(
    records: Records,
    project_id: int,
    after: tuple[int, str] | None,
    created: tuple[datetime | None, datetime | None],
    index: int | None,
    limit: int,
    bytes_max: int,
) -> tuple[list[Group], bool]:
    """Return groups by type and key, and whether there may be more.

    They end early, after a portion, when the properties exceed `bytes_max`.

    Args:
        after: The type and key behind which they begin.
        created: The time from which, and before which, they were created.
        index: None for all types.
    """
    portion = _PAGE.where(*_chosen(project_id, created, index))
    portion = portion.order_by(_group.group_type_index, _group.group_key)
    found: list[Group] = []
    chars = 0
    async with records.read() as connection:
        while len(found) < limit and chars < bytes_max:
            if after is not None:
                same_type = (_group.group_type_index == after[0]) & (_group.group_key > after[1])
                behind = or_(_group.group_type_index > after[0], same_type)
                rows_of = portion.where(_group.group_type_index >= after[0], behind)
            else:
                rows_of = portion
            count = min(limit - len(found), PORTION_KEYS)
            rows = (await connection.execute(rows_of.limit(count))).all()
            chars += sum(len(row.text) for row in rows)
            found += await asyncio.to_thread(lambda some: [_read_group(row) for row in some], rows)
            if len(rows) < count:
                return found, False
            after = found[-1].index, found[-1].key
    return found, True


def _chosen(
    project_id: int, created: tuple[datetime | None, datetime | None], index: int | None
) -> Iterable[ColumnElement[bool]]:
    start, end = created
    yield _group.project_id == project_id
    if index is not None:
        yield _group.group_type_index == index
    if start is not None:
        yield _group.created_at >= start
    if end is not None:
        yield _group.created_at < end


async def find_group(records: Records, project_id: int, index: int, key: str) -> Group | None:
    conditions = (
        _group.project_id == project_id,
        _group.group_type_index == index,
        _group.group_key == key,
    )
    rows = await records.fetch(_PAGE.where(*conditions))
    return _read_group(rows[0]) if rows else None


async def groups_by_key(
    records: Records, project_id: int, index: int, keys: Sequence[str]
) -> AsyncGenerator[dict[str, Group]]:
    """Yield the groups that exist, by key, in the order of the keys.

    Each dict has the groups of PORTION_KEYS keys.
    """
    for start in range(0, len(keys), PORTION_KEYS):
        conditions = (
            _group.project_id == project_id,
            _group.group_type_index == index,
            _group.group_key.in_(keys[start : start + PORTION_KEYS]),
        )
        rows = await records.fetch(_PAGE.where(*conditions))
        portion = await asyncio.to_thread(lambda some: [_read_group(row) for row in some], rows)
        yield {group.key: group for group in portion}


async def types_of(records: Records, project_id: int) -> list[tuple[str, int]]:
    """Return the group types with their indexes, ordered by index."""
    rows = await records.fetch(_TYPES.order_by(_type.group_type_index), {"project_id": project_id})
    return [(row.group_type, row.group_type_index) for row in rows]


def _search_condition(search: str) -> ColumnElement[bool]:
    within_json = msgspec.json.encode(search.lower()).decode()[1:-1]
    text = type_coerce(_group.properties, Text)
    return or_(
        func.lower(_group.group_key).contains(search.lower(), autoescape=True),
        func.lower(text).contains(within_json, autoescape=True),
    )


def _read_group(row: Row[Any]) -> Group:
    return Group(row.group_type_index, row.group_key, _decode(row.text), row.created_at)
