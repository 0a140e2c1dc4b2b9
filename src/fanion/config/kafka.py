"""The URL of an accept log in Kafka."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote

NAME: Final = "LOG_URL"
PARTITIONS, PARTITIONS_MAX = 32, 1024
REPLICAS, REPLICAS_MAX = 3, 9
RETENTION_DAYS, RETENTION_DAYS_MAX = 7, 3650
_SCHEMES: Final = ("kafka", "kafkas")
_MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
_OPTIONS: Final = ("partitions", "replicas", "retention_days", "mechanism", "ca")
_SHAPE: Final = "kafka://user:password@host:9092,host:9092/name"
# Of the names of topics, groups and positions that begin with it.
_LOG_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """The brokers of a log, its name there, and how its topics are created if they are missing.

    Attributes:
        servers: As `host:port`, separated by commas.
        is_encrypted: Whether the connections use TLS.
        ca: A file of certificates to trust; "" for those of the system.
        partitions: Of each topic.
        replicas: Of each partition.
        retention_days: How long requests are kept, whether they are ingested or not.
    """

    servers: str
    name: str
    is_encrypted: bool
    user: str
    password: str
    mechanism: str
    ca: str
    partitions: int
    replicas: int
    retention_days: int


def read_kafka_url(url: str) -> KafkaAddress:
    """Parse the URL of a log.

    Raises:
        ValueError: The URL is wrong. The text repeats nothing that may be a password.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in _SCHEMES or not rest:
        raise ValueError(f"{NAME} must begin with kafka:// or kafkas://, as in {_SHAPE}")
    place, _, query = rest.partition("?")
    authority, _, name = place.partition("/")
    credentials, _, servers = authority.rpartition("@")
    user, _, password = credentials.partition(":")
    _require_servers(servers)
    if not _LOG_NAME.fullmatch(name or "fanion"):
        raise ValueError(
            f"{NAME} must end with the name of the log: at most 30 letters, digits, - and _; it "
            f"is fanion without one; got {name!r}"
        )
    options = _read_options(query)
    mechanism = options.get("mechanism", _MECHANISMS[0])
    if mechanism not in _MECHANISMS:
        raise ValueError(f"{NAME}: mechanism must be one of {', '.join(_MECHANISMS)}")
    return KafkaAddress(
        servers,
        name or "fanion",
        scheme == "kafkas",
        unquote(user),
        unquote(password),
        mechanism if user else "",
        options.get("ca", ""),
        _number(options, "partitions", PARTITIONS, PARTITIONS_MAX),
        _number(options, "replicas", REPLICAS, REPLICAS_MAX),
        _number(options, "retention_days", RETENTION_DAYS, RETENTION_DAYS_MAX),
    )


def _require_servers(servers: str) -> None:
    for server in servers.split(","):
        match = _SERVER.fullmatch(server)
        if match is None or not 0 < int(match[2]) <= 65535:
            raise ValueError(
                f"{NAME} must name each broker with its port, separated by commas: {_SHAPE}; "
                "special characters in user and password are percent-encoded"
            )


def _read_options(query: str) -> Mapping[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if option not in _OPTIONS:
            raise ValueError(
                f"{NAME} has an unknown option {option!r}; allowed are: {', '.join(_OPTIONS)}"
            )
    return options


def _number(options: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = options.get(name, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise ValueError(f"{NAME}: {name} must be a number from 1 to {most}, got {text!r}")
    return int(text)
