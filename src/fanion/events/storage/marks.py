"""The mark of an event store, which names the installation to which it belongs."""

from uuid import UUID, uuid4

from clickhouse_connect.driver.client import Client

from fanion.events.event import EventStoreUnavailable
from fanion.events.ownership_store import NO_EVENTS, OTHER, ForeignEventStore, Installation, Mark
from fanion.events.storage.migrate import table_exists

# A view, because only one of several processes that create it at once succeeds. Rows have no such
# order.
_CREATE = """
  CREATE {how} installation {on_cluster} AS
  SELECT toUUID('{id}') AS id, toUUID('{event_store}') AS event_store
"""

_READ = "SELECT id, event_store FROM installation"


def require_mark(
    client: Client, installation: Installation, where: str, on_cluster: str = ""
) -> Mark:
    """Return the store's mark, marking it as this installation's if it has none.

    Args:
        where: The event store, for a message.
        on_cluster: The clause by which a statement runs on every server of the store.

    Raises:
        ForeignEventStore: Another installation owns the store. Nothing is written into it.
    """
    if not check_mark(client, installation, where):
        _write_mark(client, installation, "VIEW IF NOT EXISTS", on_cluster)
    return _checked(_read_mark(client), installation, where)


def read_mark(client: Client, installation: Installation, where: str) -> Mark:
    """Return the mark of a store that another process marks.

    Raises:
        ForeignEventStore: Another installation owns the store.
        EventStoreUnavailable: That process has not marked it yet.
    """
    if not check_mark(client, installation, where):
        raise EventStoreUnavailable(f"{where} belongs to no installation yet")
    return _checked(_read_mark(client), installation, where)


def is_same_store(one: Client, other: Client) -> bool:
    """Return whether two clients read the same event store, which is marked."""
    return _read_mark(one) == _read_mark(other)


def repeat_mark(client: Client, on_cluster: str) -> None:
    """Mark the servers of a cluster that have no mark yet, as those that have one."""
    owner, event_store = _read_mark(client)
    client.command(_mark("VIEW IF NOT EXISTS", owner, event_store, on_cluster))


def check_mark(client: Client, installation: Installation | None, where: str) -> bool:
    """Return whether the store has a mark. Write nothing.

    Raises:
        ForeignEventStore: Another installation owns the store.
    """
    is_marked = table_exists(client, "installation")
    if installation is None:
        return is_marked
    if is_marked:
        _checked(_read_mark(client), installation, where)
    elif installation.event_store is not None:
        raise ForeignEventStore(where, NO_EVENTS)
    return is_marked


def replace_mark(
    client: Client, installation: Installation, where: str, on_cluster: str = ""
) -> Mark:
    """Mark the store as this installation's, even if another one owned it."""
    _write_mark(client, installation, "OR REPLACE VIEW", on_cluster)
    return Mark(where, _read_mark(client)[1])


def _write_mark(client: Client, installation: Installation, how: str, on_cluster: str) -> None:
    client.command(_mark(how, installation.id, uuid4(), on_cluster))


def _mark(how: str, owner: UUID, event_store: UUID, on_cluster: str) -> str:
    return _CREATE.format(how=how, id=owner, event_store=event_store, on_cluster=on_cluster)


def _read_mark(client: Client) -> tuple[UUID, UUID]:
    """Return the ids of the installation and of the event store."""
    [(owner, event_store)] = client.query(_READ).result_rows
    return owner, event_store


def _checked(mark: tuple[UUID, UUID], installation: Installation, where: str) -> Mark:
    """Return the mark.

    Raises:
        ForeignEventStore: It is not the installation's.
    """
    owner, event_store = mark
    if owner != installation.id:
        raise ForeignEventStore(
            where, f"belongs to installation {owner}, these records to {installation.id}"
        )
    if installation.event_store not in (None, event_store):
        raise ForeignEventStore(where, OTHER)
    return Mark(where, event_store)
