"""The settings, read once in main from FANION_… variables and the options of `fanion serve`."""

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from fanion.config.backups import read_keep
from fanion.config.fields import SettingFields
from fanion.config.kafka import KafkaAddress, read_kafka_url
from fanion.config.mail import SmtpServer, read_mailbox, read_smtp_url
from fanion.config.roles import Role, read_roles
from fanion.config.stores import (
    are_embedded,
    check_events_sql_url,
    check_events_url,
    check_records_url,
    check_stores_of_roles,
)
from fanion.server.forwarded import Network, is_base_url, read_networks

PREFIX = "FANION_"
# Variables with this prefix are not settings: they configure the test suite.
TEST_PREFIX = "FANION_TEST_"
# Finds the names of settings in an error message; the wrong setting comes first.
_NAMES = re.compile(rf"\b(?:{PREFIX})?([A-Z][A-Z0-9_]+)\b")
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::", ""})
DAYS_MAX = 36_500
DRAIN_S_MAX = 600
# The default. Each process takes memory, and ingestion has only one interpreter in any case.
PROCESSES = 4
PROCESSES_MAX = 64
PROPERTY_COLUMNS_MAX = 100
QUESTIONS_MAX = 1_000
# The values of these settings are never printed.
MAY_HOLD_PASSWORD = frozenset(
    {
        "database_url",
        "events_url",
        "events_sql_url",
        "log_url",
        "smtp_url",
        "oidc_client_secret",
    }
)


class SettingsError(Exception):
    """A wrong setting; the text is one line that names the variable and says what to do."""


class GroupAccess(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The access that a group of the identity provider gives its members.

    Attributes:
        level: None if the group gives no level.
    """

    level: Literal["viewer", "member", "admin"] | None = None
    roles: tuple[str, ...] = ()


class Settings(SettingFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings, checked, and what follows from them."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError("PORT must be between 0 and 65535")
        if self.management_address is not None and _addresses_conflict(
            self.management_address, self.listen
        ):
            raise ValueError("MANAGEMENT_LISTEN must be another address than HOST and PORT")
        if self.log_level not in {"debug", "info", "warning", "error"}:
            raise ValueError("LOG_LEVEL must be debug, info, warning or error")
        _ = self.roles
        for name in (
            "body_bytes_max",
            "upload_bytes_max",
            "accept_log_bytes_max",
            "decide_store_timeout_s",
            "cohorts_every_s",
            "cohort_lease_s",
            "rollbacks_every_s",
            "dashboards_every_s",
            "alerts_every_s",
            "questions_wait_s",
            "question_s",
            "question_memory_bytes",
            "backup_every_s",
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name.upper()} must be greater than 0")
        if not 0 < self.deleted_cohorts_kept_days <= DAYS_MAX:
            raise ValueError(f"DELETED_COHORTS_KEPT_DAYS must be above 0, at most {DAYS_MAX}")
        if not 0 <= self.processes <= PROCESSES_MAX:
            raise ValueError(f"PROCESSES must be between 0 and {PROCESSES_MAX}")
        if not 0 <= self.property_columns <= PROPERTY_COLUMNS_MAX:
            raise ValueError(f"PROPERTY_COLUMNS must be between 0 and {PROPERTY_COLUMNS_MAX}")
        for name in (
            "questions_at_once",
            "questions_at_once_of_project",
            "questions_at_once_of_user",
            "questions_waiting",
        ):
            if not 1 <= getattr(self, name) <= QUESTIONS_MAX:
                raise ValueError(f"{name.upper()} must be between 1 and {QUESTIONS_MAX}")
        if self.spool_bytes_max < 0:
            raise ValueError("SPOOL_BYTES_MAX must not be negative; 0 is no spool")
        if self.decide_per_s < 0:
            raise ValueError("DECIDE_PER_S must not be negative")
        if self.decide_burst < 1:
            raise ValueError("DECIDE_BURST must be at least 1")
        if self.shutdown_s < 0:
            raise ValueError("SHUTDOWN_S must not be negative")
        if not 0 <= self.drain_s <= DRAIN_S_MAX:
            raise ValueError(f"DRAIN_S must be between 0 and {DRAIN_S_MAX}")
        try:
            read_networks(self.trusted_proxies)
        except ValueError as error:
            raise ValueError(f"TRUSTED_PROXIES: {error}") from None
        _require_base_url("PUBLIC_URL", self.public_url)
        _require_base_url("MANAGEMENT_URL", self.management_url)
        self._require_mail()
        self._check_backups()
        if self.database_url:
            check_records_url(self.database_url)
        if self.events_url:
            check_events_url(self.events_url)
        if self.events_sql_url:
            check_events_sql_url(self.events_sql_url, self.events_url)
        if self.log_url:
            read_kafka_url(self.log_url)
            if self.records_url.startswith("sqlite"):
                raise ValueError(
                    "LOG_URL needs PostgreSQL in DATABASE_URL, which has the positions"
                )
        check_stores_of_roles(self.roles, self.database_url, self.events_url)
        self._require_oidc()

    def _require_oidc(self) -> None:
        if self.password_sign_in == "off" and not self.oidc_issuer:
            raise ValueError("PASSWORD_SIGN_IN can be off only with OIDC_ISSUER")
        if self.oidc_issuer and not is_safe_url(self.oidc_issuer):
            raise ValueError("OIDC_ISSUER must be an https address, such as https://id.example.com")
        if bool(self.oidc_issuer) != bool(self.oidc_client_id):
            raise ValueError("OIDC_ISSUER and OIDC_CLIENT_ID must be set together")
        if self.oidc_client_secret and self.oidc_client_secret_file:
            raise ValueError("OIDC_CLIENT_SECRET and OIDC_CLIENT_SECRET_FILE exclude each other")
        if "openid" not in self.oidc_scopes.split():
            raise ValueError("OIDC_SCOPES must hold openid")
        if self.oidc_create_accounts and not self.oidc_trusted_domains:
            raise ValueError("OIDC_CREATE_ACCOUNTS needs OIDC_DOMAINS, whose users get an account")
        if any("@" in domain for domain in self.oidc_trusted_domains):
            raise ValueError("OIDC_DOMAINS must hold domains such as example.com, without an @")
        _ = self.oidc_group_access

    @property
    def oidc_trusted_domains(self) -> frozenset[str]:
        return frozenset(self.oidc_domains.lower().replace(",", " ").split())

    @property
    def oidc_group_access(self) -> Mapping[str, GroupAccess]:
        """The access of each group, by the group's name.

        Raises:
            ValueError: The setting is not the expected JSON.
        """
        try:
            return msgspec.json.decode(self.oidc_groups or "{}", type=dict[str, GroupAccess])
        except msgspec.DecodeError as error:
            raise ValueError(
                'OIDC_GROUPS must be JSON such as {"staff": {"level": "member", "roles": []}}: '
                f"{error}"
            ) from None

    def _require_mail(self) -> None:
        if not self.smtp_url:
            return
        read_smtp_url(self.smtp_url)
        if not self.mail_from:
            raise ValueError("MAIL_FROM is needed with SMTP_URL: the address that mails come from")
        read_mailbox(self.mail_from)
        if not self.public_url:
            raise ValueError(
                "PUBLIC_URL is needed with SMTP_URL: links in mails begin with the address that "
                "people reach, and not with a listener's or what a request says"
            )

    def _check_backups(self) -> None:
        try:
            read_keep(self.backup_keep)
        except ValueError as error:
            raise ValueError(f"BACKUP_KEEP: {error}") from None
        if self.backup_to and not self.has_embedded_stores:
            raise ValueError(
                "BACKUP_TO needs both stores in the data folder; back up PostgreSQL and ClickHouse "
                "with their own tools"
            )

    @property
    def has_embedded_stores(self) -> bool:
        """True if both stores are files of this machine."""
        return are_embedded(self.database_url, self.events_url)

    @property
    def backup_interval_s(self) -> float | None:
        """How often the server makes backups, in seconds; None if it makes none."""
        return self.backup_every_s if self.backup_to else None

    @property
    def listen(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def management_address(self) -> tuple[str, int] | None:
        """The address of the separate management listener, or None if there is none.

        Raises:
            ValueError: The setting is not an address with a port.
        """
        return _read_address(self.management_listen) if self.management_listen else None

    @property
    def roles(self) -> frozenset[Role]:
        """The roles of this process.

        Raises:
            ValueError: A role is unknown.
        """
        return read_roles(self.role)

    @property
    def drain_of_roles_s(self) -> float:
        """The drain of this process; none if no load balancer sends it requests."""
        return self.drain_s if self.roles & {Role.WEB, Role.API} else 0.0

    @property
    def records_url(self) -> str:
        return self.database_url or f"sqlite:///{self.data.resolve() / 'records.db'}"

    @property
    def event_store_url(self) -> str:
        return self.events_url or f"chdb://{self.data.resolve() / 'events'}"

    @property
    def kafka(self) -> KafkaAddress | None:
        """The accept log in Kafka; None if it is elsewhere."""
        return read_kafka_url(self.log_url) if self.log_url else None

    @property
    def log_bytes_limit(self) -> float:
        """The size at which the accept log is full; a log in Kafka is limited by its brokers."""
        return inf if self.log_url else self.accept_log_bytes_max

    @property
    def accept_log_path(self) -> Path:
        return self.data.resolve() / "accept-log.db"

    @property
    def spool_path(self) -> Path:
        """The folder for what is accepted while PostgreSQL is away."""
        return self.data.resolve() / "spool"

    @property
    def has_spool(self) -> bool:
        is_sqlite = self.records_url.startswith("sqlite")
        return Role.WEB in self.roles and self.spool_bytes_max > 0 and not is_sqlite

    @property
    def trusted_networks(self) -> tuple[Network, ...]:
        """The networks of the proxies whose forwarded headers are believed."""
        return read_networks(self.trusted_proxies)

    @property
    def answering(self) -> int:
        """The number of processes that answer capture and flags, including the server itself."""
        return self.processes or min(_available_cores(), PROCESSES)

    @property
    def address(self) -> str:
        """The address at which clients reach the server."""
        return (self.public_url or self.local_address).rstrip("/")

    @property
    def capture_url(self) -> str:
        """The address that SDKs connect to; "" if it is the address of each management request."""
        is_known = self.public_url or self.management_listen or self.management_url
        return self.address if is_known else ""

    @property
    def mail_url(self) -> str:
        """The start of links in mails: the address at which users reach the management API."""
        return (self.management_url or self.address).rstrip("/")

    @property
    def operator_url(self) -> str:
        """The address at which the operator reaches management, from this machine too."""
        address = self.management_address
        if self.management_url or address is None:
            return self.mail_url
        return _listener_url(*address)

    @property
    def smtp_server(self) -> SmtpServer | None:
        """The mail server, or None if no mail is sent."""
        return read_smtp_url(self.smtp_url) if self.smtp_url else None

    @property
    def local_address(self) -> str:
        """The address at which a program on this machine reaches the server."""
        return _listener_url(self.host, self.port)

    def __repr__(self) -> str:
        """Leave out passwords, which URLs may contain too."""
        fields = {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in MAY_HOLD_PASSWORD
        }
        return f"Settings({fields})"


def read_settings(
    environment: Mapping[str, str], flags: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings; a flag that is not None wins over its variable.

    Raises:
        SettingsError: A variable is unknown or a value is wrong.
    """
    return _convert_values(_read_values(environment, flags))


def read_valid_settings(
    environment: Mapping[str, str], flags: Mapping[str, Any] | None = None
) -> tuple[Settings, dict[str, str]]:
    """Return the valid settings, and an error message for each wrong one by name.

    Raises:
        SettingsError: It cannot be determined which setting is wrong.
    """
    values, problems = _read_values(environment, flags), dict[str, str]()
    while True:
        try:
            return _convert_values(values), problems
        except SettingsError as error:
            names = [word.lower() for word in _NAMES.findall(str(error))]
            wrong = next((name for name in names if name in values), None)
            if wrong is None:
                raise
            problems[wrong] = str(error)
            del values[wrong]


def _read_values(environment: Mapping[str, str], flags: Mapping[str, Any] | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and not name.startswith(TEST_PREFIX)
    }
    return values | {name: value for name, value in (flags or {}).items() if value is not None}


def _convert_values(values: Mapping[str, Any]) -> Settings:
    for name in values:
        if name not in Settings.__struct_fields__:
            raise SettingsError(
                f"{PREFIX}{name.upper()} is not a setting; docs/configuration.md lists them all."
            )
    try:
        return msgspec.convert(values, Settings, strict=False, dec_hook=_decode_value)
    except msgspec.ValidationError as error:
        raise SettingsError(_setting_error(str(error), values)) from None


def _listener_url(host: str, port: int) -> str:
    """Return the address at which a program on this machine reaches the listener."""
    host = "127.0.0.1" if host in _EVERY_ADDRESS else host
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{port}"


def _addresses_conflict(first: tuple[str, int], second: tuple[str, int]) -> bool:
    """Return whether the two addresses cannot be listened on at the same time."""
    return first[1] == second[1] and (
        first[0] == second[0] or not _EVERY_ADDRESS.isdisjoint(first + second)
    )


def _read_address(text: str) -> tuple[str, int]:
    """Parse an address with a port, such as `127.0.0.1:8001` or `[::1]:8001`.

    Raises:
        ValueError: The text is not an address with a port.
    """
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""  # an IPv6 address, whose last part would be taken for a port
    if not (host and colon and port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= 65535):
        raise ValueError(
            f"MANAGEMENT_LISTEN must be an address and a port, for example 127.0.0.1:8001, "
            f"got {text!r}"
        )
    return host, int(port)


def _available_cores() -> int:
    """Return the number of cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not available on every platform
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def _decode_value(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError


def is_safe_url(url: str) -> bool:
    """Return whether a URL without a user is https, or http to this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or not (url.isascii() and url.isprintable()):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))


def is_of_this_machine(url: str) -> bool:
    """Return whether only programs on this machine can reach the URL, as far as its text says."""
    host = urlsplit(url).hostname or ""
    return host in _EVERY_ADDRESS or _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _require_base_url(name: str, url: str) -> None:
    """Raise ValueError if the setting cannot be the start of links.

    The text repeats nothing that may be a password.
    """
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ValueError(f"{name} must not hold a user name or a password")
    if "?" in url or "#" in url:
        raise ValueError(f"{name} must have no query (?) and no fragment (#)")
    if url and not is_base_url(url):
        got = "" if "@" in url else f", got {url!r}"
        raise ValueError(
            f"{name} must be an address such as https://fanion.example.com or "
            f"https://example.com/fanion{got}"
        )


def _setting_error(error: str, values: Mapping[str, Any]) -> str:
    """`Expected `int`, got `str` - at `$.port`` → FANION_PORT: expected int, got 'abc'."""
    reason, _, path = error.partition(" - at `$.")
    if not path:
        return f"{PREFIX}{error}" if error[:1].isupper() else error
    name = path.rstrip("`")
    expected = reason.partition(",")[0].replace("`", "").replace(" | null", "").lower()
    return f"{PREFIX}{name.upper()}: {expected}, got {values.get(name)!r}"
