"""Activity of flags and what webhooks are sent of it, in the transaction of the change."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author, Change, Entry
from fanion.flags.storage.activity import told_changes
from fanion.webhooks import outbox_store


def tell_created(connection: Connection, author: Author, flag_id: int, key: str) -> None:
    outbox_store.record_and_enqueue(
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
    outbox_store.record_and_enqueue(
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
