"""Activity of flags, written in the transaction of the change that it tells of."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from fanion.activity.changes import Change
from fanion.activity.store import Author, Entry, record
from fanion.flags.activity import told_changes


def tell_created(connection: Connection, author: Author, flag_id: int, key: str) -> None:
    record(
        connection,
        Entry(
            author=author, scope="FeatureFlag", item_id=str(flag_id), activity="created", name=key
        ),
    )


def tell_changed(
    connection: Connection,
    author: Author,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    """before, after: rows of the flag; nothing is written when they tell the same"""
    tell(connection, author, before["id"], after["key"], told_changes(before, after))


def tell(
    connection: Connection, author: Author, flag_id: int, key: str, changes: list[Change]
) -> None:
    record(
        connection,
        Entry(
            author=author,
            scope="FeatureFlag",
            item_id=str(flag_id),
            activity="updated",
            name=key,
            changes=changes,
        ),
    )
