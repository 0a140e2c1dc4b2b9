"""The URLs of both stores, checked before either is opened, and the stores that roles need."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from fanion.config.roles import ALL, Role, roles_text

# The options that a URL may have, by scheme. Others would be dropped silently, or refused later by
# a driver whose message does not mention the setting.
_POSTGRESQL: Final = ("gsslib", "host", "krbsrvname", "passfile", "sslmode", "target_session_attrs")
_RECORDS_OPTIONS: Final[Mapping[str, Sequence[str]]] = {
    "sqlite": (),
    "sqlite+aiosqlite": (),
    "postgresql": _POSTGRESQL,
    "postgresql+asyncpg": _POSTGRESQL,
    "postgres": _POSTGRESQL,
}
_EVENTS_OPTIONS: Final[Mapping[str, Sequence[str]]] = {
    "chdb": ("database",),
    "clickhouse": ("cluster",),
    "clickhouses": ("cluster",),
    "clickhouse+https": ("cluster",),
}
_SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_PORT_MAX: Final = 65535
_CLUSTER: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
# The roles that open the event store.
_READ_EVENTS: Final = frozenset((Role.API, Role.INGEST, Role.JOBS))


def check_records_url(url: str) -> None:
    """Check the URL of the records store.

    Raises:
        ValueError: The URL is wrong. The text repeats nothing that may be a password.
    """
    name, scheme = "DATABASE_URL", _url_scheme(url)
    _require_scheme(name, url, ("sqlite", "postgresql", "postgres"), _RECORDS_OPTIONS)
    if scheme.startswith("sqlite"):
        if not url.partition(":///")[2].partition("?")[0]:
            raise ValueError(f"{name} must name a file: sqlite:////var/lib/fanion/records.db")
    else:
        _split_url(name, url)
    _require_options(name, url, _RECORDS_OPTIONS[scheme])


def check_events_url(url: str, name: str = "EVENTS_URL") -> None:
    """Check the URL of the event store.

    Args:
        name: The setting.

    Raises:
        ValueError: The URL is wrong. The text repeats nothing that may be a password.
    """
    scheme = _url_scheme(url)
    _require_scheme(name, url, ("chdb", "clickhouse", "clickhouses"), _EVENTS_OPTIONS)
    parts = _split_url(name, url)
    if scheme == "chdb" and (parts.netloc or not parts.path.startswith("/")):
        raise ValueError(f"{name} must name an absolute folder: chdb:///var/lib/fanion/events")
    if scheme != "chdb" and not parts.hostname:
        raise ValueError(f"{name} must name a host: clickhouse://user:password@host:8123/database")
    if scheme != "chdb" and "/" in parts.path.strip("/"):
        raise ValueError(f"{name} must end with the name of one database, got {parts.path!r}")
    _require_options(name, url, _EVENTS_OPTIONS[scheme])


def check_events_sql_url(url: str, events_url: str) -> None:
    """Check the URL of the user that runs SQL of people.

    Raises:
        ValueError: It is wrong, or the event store is no ClickHouse server.
    """
    name = "EVENTS_SQL_URL"
    check_events_url(url, name)
    if not events_url or "chdb" in (_url_scheme(url), _url_scheme(events_url)):
        raise ValueError(
            f"{name} needs a ClickHouse server, in EVENTS_URL too: the embedded event store has no "
            "users"
        )
    if urlsplit(url).path.strip("/") != urlsplit(events_url).path.strip("/"):
        raise ValueError(f"{name} must name the database of EVENTS_URL")


def check_stores_of_roles(roles: frozenset[Role], records_url: str, events_url: str) -> None:
    """Check that stores shared by several processes are on servers.

    Raises:
        ValueError: A store is embedded that another process needs too.
    """
    if roles == ALL:
        return
    named = f"ROLE={roles_text(roles)}"
    if not records_url or _url_scheme(records_url).startswith("sqlite"):
        raise ValueError(
            f"{named} needs PostgreSQL in DATABASE_URL: records in SQLite are served by one "
            "process, with all roles"
        )
    missing = _READ_EVENTS - roles
    is_embedded = not events_url or _url_scheme(events_url) == "chdb"
    if is_embedded and missing and missing != _READ_EVENTS:
        raise ValueError(
            f"{named} needs a ClickHouse server in EVENTS_URL: an embedded event store is opened "
            f"by one process, which must then have {roles_text(missing)} too"
        )


def are_embedded(records_url: str, events_url: str) -> bool:
    """Return whether both stores are files of this machine."""
    is_file = not records_url or _url_scheme(records_url).startswith("sqlite")
    return is_file and (not events_url or _url_scheme(events_url) == "chdb")


def _url_scheme(url: str) -> str:
    return url.partition("://")[0]


def _require_scheme(name: str, url: str, shown: Sequence[str], known: Collection[str]) -> None:
    if _url_scheme(url) not in known or "://" not in url:
        raise ValueError(
            f"{name} must begin with {' or '.join(f'{scheme}://' for scheme in shown)}"
        )


def _split_url(name: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_readable = parts.port != 0 and not parts.fragment
    except ValueError:
        is_readable = False
    if not is_readable:
        raise ValueError(
            f"{name} cannot be read: it is scheme://user:password@host:port/database with a port "
            f"from 1 to {_PORT_MAX}; special characters in user and password are percent-encoded"
        )
    return parts


def _require_options(name: str, url: str, allowed: Collection[str]) -> None:
    for option, value in parse_qsl(url.partition("?")[2], keep_blank_values=True):
        if option not in allowed:
            known = f"allowed are: {', '.join(allowed)}" if allowed else "such a URL has none"
            raise ValueError(f"{name} has an unknown option {option!r}; {known}")
        if option == "cluster" and not _CLUSTER.fullmatch(value):
            raise ValueError(
                f"{name}: cluster must be a name of letters, digits, '_', '-' and '.', got "
                f"{value!r}"
            )
        if option == "sslmode" and value not in _SSL_MODES:
            modes = ", ".join(_SSL_MODES)
            raise ValueError(f"{name}: sslmode must be one of {modes}, got {value!r}")
