"""Settings: a wrong one is reported in one clear line."""

from pathlib import Path
from typing import Any

import pytest

from fanion.config import (
    PREFIX,
    GroupAccess,
    Settings,
    SettingsError,
    read_settings,
    read_valid_settings,
)
from fanion.config.mail import SmtpServer, read_mailbox, read_smtp_url


def test_without_anything_the_defaults_hold() -> None:
    assert read_settings({"PATH": "/bin", "FANION_TEST_CLICKHOUSE_URL": "x"}) == Settings()


def test_a_flag_wins_over_its_variable() -> None:
    settings = read_settings({"FANION_PORT": "1"}, {"port": 2, "host": None})

    assert (settings.port, settings.host) == (2, "127.0.0.1")


def test_texts_are_read_as_what_they_stand_for() -> None:
    environment = {
        "FANION_PORT": "9",
        "FANION_DATA": "/srv/fanion",
        "FANION_SHUTDOWN_S": "1.5",
        "FANION_WEBHOOKS_ALLOW_PRIVATE": "true",
    }

    settings = read_settings(environment)

    assert settings == Settings(
        port=9, data=Path("/srv/fanion"), shutdown_s=1.5, webhooks_allow_private=True
    )


@pytest.mark.parametrize(
    ("role", "drain_s"), [("all", 5), ("web", 5), ("ingest,api", 5), ("ingest,jobs", 0)]
)
def test_only_roles_that_clients_reach_drain(role: str, drain_s: float) -> None:
    settings = Settings(
        role=role,
        drain_s=5,
        database_url="postgresql://db/fanion",
        events_url="clickhouse://ch/fanion",
    )

    assert settings.drain_of_roles_s == drain_s


def test_the_provider_and_its_groups_are_read() -> None:
    settings = read_settings(
        {
            "FANION_OIDC_ISSUER": "http://127.0.0.1:9000/realm",
            "FANION_OIDC_CLIENT_ID": "fanion",
            "FANION_OIDC_CLIENT_SECRET": "very secret",
            "FANION_OIDC_DOMAINS": "Example.com, example.org",
            "FANION_OIDC_GROUPS": '{"staff": {"level": "admin", "roles": ["Web"]}, "all": {}}',
            "FANION_PASSWORD_SIGN_IN": "off",
        }
    )

    assert settings.oidc_trusted_domains == {"example.com", "example.org"}
    assert settings.oidc_group_access == {
        "staff": GroupAccess("admin", ("Web",)),
        "all": GroupAccess(),
    }
    assert "very secret" not in repr(settings)


UNREADABLE = [
    f"FANION_{name} cannot be read: it is scheme://user:password@host:port/database with a port "
    "from 1 to 65535; special characters in user and password are percent-encoded"
    for name in ("DATABASE_URL", "EVENTS_URL")
]
WRONG: dict[str, tuple[dict[str, str], str]] = {
    "unknown": (
        {"FANION_PROT": "1"},
        "FANION_PROT is not a setting; docs/configuration.md lists them all.",
    ),
    "a user of an embedded store": (
        {"FANION_EVENTS_SQL_URL": "clickhouse://sql@h/d"},
        "FANION_EVENTS_SQL_URL needs a ClickHouse server, in EVENTS_URL too: the embedded event "
        "store has no users",
    ),
    "a user of another database": (
        {
            "FANION_EVENTS_URL": "clickhouse://h/d",
            "FANION_EVENTS_SQL_URL": "clickhouse://sql@h/e",
        },
        "FANION_EVENTS_SQL_URL must name the database of EVENTS_URL",
    ),
    "no number": ({"FANION_PORT": "http"}, "FANION_PORT: expected int, got 'http'"),
    "no boolean": (
        {"FANION_WEBHOOKS_ALLOW_PRIVATE": "maybe"},
        "FANION_WEBHOOKS_ALLOW_PRIVATE: expected bool, got 'maybe'",
    ),
    "no proxy": (
        {"FANION_TRUSTED_PROXIES": "10.0.0.0/8, proxy.example, ::1"},
        "FANION_TRUSTED_PROXIES: 'proxy.example' is neither an address nor a network such as "
        "10.0.0.0/8",
    ),
    "passwords off without another way": (
        {"FANION_PASSWORD_SIGN_IN": "off"},
        "FANION_PASSWORD_SIGN_IN can be off only with OIDC_ISSUER",
    ),
    "passwords neither on nor off": (
        {"FANION_PASSWORD_SIGN_IN": "no"},
        "FANION_PASSWORD_SIGN_IN: invalid enum value 'no', got 'no'",
    ),
    "an issuer without TLS": (
        {"FANION_OIDC_ISSUER": "http://id.example.com", "FANION_OIDC_CLIENT_ID": "fanion"},
        "FANION_OIDC_ISSUER must be an https address, such as https://id.example.com",
    ),
    "an issuer without a client": (
        {"FANION_OIDC_ISSUER": "https://id.example.com"},
        "FANION_OIDC_ISSUER and OIDC_CLIENT_ID must be set together",
    ),
    "a client without an issuer": (
        {"FANION_OIDC_CLIENT_ID": "fanion"},
        "FANION_OIDC_ISSUER and OIDC_CLIENT_ID must be set together",
    ),
    "two secrets": (
        {"FANION_OIDC_CLIENT_SECRET": "x", "FANION_OIDC_CLIENT_SECRET_FILE": "/run/secret"},
        "FANION_OIDC_CLIENT_SECRET and OIDC_CLIENT_SECRET_FILE exclude each other",
    ),
    "scopes without openid": (
        {"FANION_OIDC_SCOPES": "email"},
        "FANION_OIDC_SCOPES must hold openid",
    ),
    "accounts for everybody": (
        {"FANION_OIDC_CREATE_ACCOUNTS": "true"},
        "FANION_OIDC_CREATE_ACCOUNTS needs OIDC_DOMAINS, whose users get an account",
    ),
    "an address as domain": (
        {"FANION_OIDC_DOMAINS": "example.com, @example.org"},
        "FANION_OIDC_DOMAINS must hold domains such as example.com, without an @",
    ),
    "groups that are no JSON": (
        {"FANION_OIDC_GROUPS": "staff=member"},
        'FANION_OIDC_GROUPS must be JSON such as {"staff": {"level": "member", "roles": []}}: '
        "JSON is malformed: invalid character (byte 0)",
    ),
    "groups that make owners": (
        {"FANION_OIDC_GROUPS": '{"staff": {"level": "owner"}}'},
        'FANION_OIDC_GROUPS must be JSON such as {"staff": {"level": "member", "roles": []}}: '
        "Invalid enum value 'owner' - at `$[...].level`",
    ),
    "a network with bits of a host": (
        {"FANION_TRUSTED_PROXIES": "10.1.0.0/8"},
        "FANION_TRUSTED_PROXIES: '10.1.0.0/8' has bits beyond its mask; did you mean 10.0.0.0/8",
    ),
    "port too large": ({"FANION_PORT": "65536"}, "FANION_PORT must be between 0 and 65535"),
    "port negative": ({"FANION_PORT": "-1"}, "FANION_PORT must be between 0 and 65535"),
    "level": (
        {"FANION_LOG_LEVEL": "loud"},
        "FANION_LOG_LEVEL must be debug, info, warning or error",
    ),
    "deleted cohorts kept for ever": (
        {"FANION_DELETED_COHORTS_KEPT_DAYS": "inf"},
        "FANION_DELETED_COHORTS_KEPT_DAYS must be above 0, at most 36500",
    ),
    "no room for bodies": (
        {"FANION_BODY_BYTES_MAX": "0"},
        "FANION_BODY_BYTES_MAX must be greater than 0",
    ),
    "no room for the log": (
        {"FANION_ACCEPT_LOG_BYTES_MAX": "-5"},
        "FANION_ACCEPT_LOG_BYTES_MAX must be greater than 0",
    ),
    "no time for stores": (
        {"FANION_DECIDE_STORE_TIMEOUT_S": "0"},
        "FANION_DECIDE_STORE_TIMEOUT_S must be greater than 0",
    ),
    "negative time": ({"FANION_SHUTDOWN_S": "-1"}, "FANION_SHUTDOWN_S must not be negative"),
    "a drain without end": (
        {"FANION_DRAIN_S": "inf"},
        "FANION_DRAIN_S must be between 0 and 600",
    ),
    "a public address of another scheme": (
        {"FANION_PUBLIC_URL": "ftp://fanion.example.com"},
        "FANION_PUBLIC_URL must be an address such as https://fanion.example.com or "
        "https://example.com/fanion, got 'ftp://fanion.example.com'",
    ),
    "a public address with a password": (
        {"FANION_PUBLIC_URL": "https://ann:s3cret@fanion.example.com"},
        "FANION_PUBLIC_URL must not hold a user name or a password",
    ),
    "a public address with a query": (
        {"FANION_PUBLIC_URL": "https://fanion.example.com/?a=1"},
        "FANION_PUBLIC_URL must have no query (?) and no fragment (#)",
    ),
    "a public address with a fragment": (
        {"FANION_PUBLIC_URL": "https://fanion.example.com/#top"},
        "FANION_PUBLIC_URL must have no query (?) and no fragment (#)",
    ),
    "a mail server of another scheme": (
        {"FANION_SMTP_URL": "https://mail.example.com"},
        "FANION_SMTP_URL must be an address such as smtp://user:password@mail.example.com:587, "
        "beginning with smtp://, smtps:// or smtp+plain://, without a path",
    ),
    "a password that would be sent openly": (
        {"FANION_SMTP_URL": "smtp+plain://ann:s3cret@mail.example.com"},
        "FANION_SMTP_URL must not hold a password with smtp+plain, which sends it openly",
    ),
    "a mail server's user without a password": (
        {"FANION_SMTP_URL": "smtp://ann@mail.example.com"},
        "FANION_SMTP_URL must hold a user name with its password, or neither",
    ),
    "mails from nobody": (
        {"FANION_SMTP_URL": "smtp://mail.example.com"},
        "FANION_MAIL_FROM is needed with SMTP_URL: the address that mails come from",
    ),
    "mails from what is no address": (
        {"FANION_SMTP_URL": "smtp://mail.example.com", "FANION_MAIL_FROM": "Ann <a b@c>"},
        "FANION_MAIL_FROM must be an address such as fanion@example.com or "
        "Fanion <fanion@example.com>, got 'Ann <a b@c>'",
    ),
    "mails without an address for their links": (
        {"FANION_SMTP_URL": "smtp://mail.example.com", "FANION_MAIL_FROM": "a@example.com"},
        "FANION_PUBLIC_URL is needed with SMTP_URL: links in mails begin with the address that "
        "people reach, and not with a listener's or what a request says",
    ),
    "mails with the address of a listener": (
        {
            "FANION_SMTP_URL": "smtp://mail.example.com",
            "FANION_MAIL_FROM": "a@example.com",
            "FANION_MANAGEMENT_LISTEN": "0.0.0.0:8001",
        },
        "FANION_PUBLIC_URL is needed with SMTP_URL: links in mails begin with the address that "
        "people reach, and not with a listener's or what a request says",
    ),
    "management": (
        {"FANION_MANAGEMENT_URL": "manage.example.com"},
        "FANION_MANAGEMENT_URL must be an address such as https://fanion.example.com or "
        "https://example.com/fanion, got 'manage.example.com'",
    ),
    "records": (
        {"FANION_DATABASE_URL": "mysql://h/d"},
        "FANION_DATABASE_URL must begin with sqlite:// or postgresql:// or postgres://",
    ),
    "events": (
        {"FANION_EVENTS_URL": "duckdb://x"},
        "FANION_EVENTS_URL must begin with chdb:// or clickhouse:// or clickhouses://",
    ),
    "a driver of its own": (
        {"FANION_DATABASE_URL": "postgresql+psycopg://h/d"},
        "FANION_DATABASE_URL must begin with sqlite:// or postgresql:// or postgres://",
    ),
    "a port of records": ({"FANION_DATABASE_URL": "postgresql://u:s3cret@h:54x/d"}, UNREADABLE[0]),
    "a port that is too large": (
        {"FANION_DATABASE_URL": "postgresql://u:s3cret@h:65536/d"},
        UNREADABLE[0],
    ),
    "a password that is not encoded": (
        {"FANION_DATABASE_URL": "postgresql://u:s3#cret@h/d"},
        UNREADABLE[0],
    ),
    "a password that looks like options": (
        {"FANION_DATABASE_URL": "postgresql://u:s3?cret@h/d"},
        UNREADABLE[0],
    ),
    "a port of events": ({"FANION_EVENTS_URL": "clickhouse://u:s3cret@h:x/d"}, UNREADABLE[1]),
    "an option of records": (
        {"FANION_DATABASE_URL": "postgresql://h/d?sslmod=require"},
        "FANION_DATABASE_URL has an unknown option 'sslmod'; allowed are: gsslib, host, "
        "krbsrvname, passfile, sslmode, target_session_attrs",
    ),
    "a mode of TLS": (
        {"FANION_DATABASE_URL": "postgresql://h/d?sslmode=on"},
        "FANION_DATABASE_URL: sslmode must be one of disable, allow, prefer, require, verify-ca, "
        "verify-full, got 'on'",
    ),
    "an option of SQLite": (
        {"FANION_DATABASE_URL": "sqlite:////srv/records.db?mode=ro"},
        "FANION_DATABASE_URL has an unknown option 'mode'; such a URL has none",
    ),
    "no file of records": (
        {"FANION_DATABASE_URL": "sqlite://srv/records.db"},
        "FANION_DATABASE_URL must name a file: sqlite:////var/lib/fanion/records.db",
    ),
    "an option of a server": (
        {"FANION_EVENTS_URL": "clickhouse://h/d?clusters=main"},
        "FANION_EVENTS_URL has an unknown option 'clusters'; allowed are: cluster",
    ),
    "the name of a cluster": (
        {"FANION_EVENTS_URL": "clickhouse://h/d?cluster=my cluster"},
        "FANION_EVENTS_URL: cluster must be a name of letters, digits, '_', '-' and '.', "
        "got 'my cluster'",
    ),
    "an option of the embedded engine": (
        {"FANION_EVENTS_URL": "chdb:///srv/events?databas=a"},
        "FANION_EVENTS_URL has an unknown option 'databas'; allowed are: database",
    ),
    "a relative folder of events": (
        {"FANION_EVENTS_URL": "chdb://srv/events"},
        "FANION_EVENTS_URL must name an absolute folder: chdb:///var/lib/fanion/events",
    ),
    "no host of events": (
        {"FANION_EVENTS_URL": "clickhouse:///d"},
        "FANION_EVENTS_URL must name a host: clickhouse://user:password@host:8123/database",
    ),
    "two databases": (
        {"FANION_EVENTS_URL": "clickhouse://h/a/b"},
        "FANION_EVENTS_URL must end with the name of one database, got '/a/b'",
    ),
    "a role on SQLite": (
        {"FANION_ROLE": "web"},
        "FANION_ROLE=web needs PostgreSQL in DATABASE_URL: records in SQLite are served by one "
        "process, with all roles",
    ),
    "a log without PostgreSQL": (
        {"FANION_LOG_URL": "kafka://b:9092/fanion"},
        "FANION_LOG_URL needs PostgreSQL in DATABASE_URL, which has the positions",
    ),
    "a log elsewhere": (
        {"FANION_LOG_URL": "nats://b:4222", "FANION_DATABASE_URL": "postgresql://h/d"},
        "FANION_LOG_URL must begin with kafka:// or kafkas://, as in "
        "kafka://user:password@host:9092,host:9092/name",
    ),
    "a role on an embedded event store": (
        {"FANION_ROLE": "web,ingest", "FANION_DATABASE_URL": "postgresql://h/d"},
        "FANION_ROLE=web, ingest needs a ClickHouse server in EVENTS_URL: an embedded event store "
        "is opened by one process, which must then have api, jobs too",
    ),
}


@pytest.mark.parametrize(
    "environment",
    [
        {"FANION_DATABASE_URL": "postgres://u:p%23w@h:5432/d?sslmode=verify-full"},
        {"FANION_DATABASE_URL": "postgresql://fanion@/d?host=/run/postgresql"},
        {"FANION_DATABASE_URL": "postgresql://u@[::1]:1/d?target_session_attrs=primary"},
        {"FANION_DATABASE_URL": "sqlite:///records.db"},
        {"FANION_EVENTS_URL": "clickhouses://u:p%2Fw@h/d"},
        {"FANION_EVENTS_URL": "clickhouse://u:p@h:8123/d?cluster=all-2.0_x"},
        {"FANION_EVENTS_URL": "clickhouse+https://h"},
        {"FANION_EVENTS_URL": "chdb:///srv/events?database=fanion"},
        {"FANION_LOG_URL": "kafka://b:9092", "FANION_DATABASE_URL": "postgresql://h/d"},
        {"FANION_ROLE": "web", "FANION_DATABASE_URL": "postgresql://h/d"},
        {"FANION_ROLE": "api,ingest,jobs", "FANION_DATABASE_URL": "postgresql://h/d"},
        {
            "FANION_ROLE": "ingest",
            "FANION_DATABASE_URL": "postgresql://h/d",
            "FANION_EVENTS_URL": "clickhouse://h/d",
        },
    ],
)
def test_right_stores_are_taken(environment: dict[str, str]) -> None:
    assert read_settings(environment) != Settings()


def test_every_wrong_setting_is_named_and_the_others_are_read() -> None:
    settings, problems = read_valid_settings(
        {
            "FANION_PORT": "http",
            "FANION_PROT": "1",
            "FANION_ROLE": "ingest",
            "FANION_EVENTS_URL": "clickhouse://h/d?clusters=main",
            "FANION_OIDC_CLIENT_ID": "fanion",
            "FANION_LOG_LEVEL": "debug",
        }
    )

    assert settings == Settings(log_level="debug")
    assert problems.keys() == {"port", "prot", "role", "events_url", "oidc_client_id"}
    assert problems["port"] == "FANION_PORT: expected int, got 'http'"


def test_without_a_wrong_setting_there_are_no_problems() -> None:
    assert read_valid_settings({"FANION_PORT": "1"}) == (Settings(port=1), {})


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_reported_in_one_line_that_names_it(name: str) -> None:
    environment, line = WRONG[name]

    with pytest.raises(SettingsError) as raised:
        read_settings(environment)

    assert str(raised.value) == line
    assert line.startswith(PREFIX)


@pytest.mark.parametrize(
    ("field", "url"),
    [
        ("database_url", "postgresql://user:s3cret@db.example/fanion"),
        ("events_url", "clickhouse://user:s3cret@db.example/fanion"),
        ("events_sql_url", "clickhouse://user:s3cret@db.example/fanion"),
        ("log_url", "kafka://user:s3cret@broker.example:9092/fanion"),
        ("smtp_url", "smtps://user:s3cret@mail.example"),
    ],
)
def test_what_may_hold_a_password_is_not_returned(field: str, url: str) -> None:
    mail = {"mail_from": "a@example.com", "public_url": "https://fanion.example.com"}
    stores = {"database_url": "postgresql://h/d", "events_url": "clickhouse://h/fanion"}
    values: dict[str, Any] = {**stores, field: url, **mail}

    returned = repr(read_settings({}, values))

    assert "s3cret" not in returned
    assert "127.0.0.1" in returned


def test_a_wrong_address_of_a_store_does_not_show_its_password() -> None:
    with pytest.raises(SettingsError) as raised:
        read_settings({"FANION_DATABASE_URL": "mysql://user:s3cret@db.example/fanion"})

    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", None),
        ("127.0.0.1:8001", ("127.0.0.1", 8001)),
        ("[::1]:8001", ("::1", 8001)),
        ("localhost:1", ("localhost", 1)),
        ("0.0.0.0:65535", ("0.0.0.0", 65535)),
    ],
)
def test_management_is_listened_on_at_an_address_and_a_port(
    text: str, address: tuple[str, int] | None
) -> None:
    assert read_settings({"FANION_MANAGEMENT_LISTEN": text}).management_address == address


@pytest.mark.parametrize(
    "text", ["8001", ":8001", "::1:8001", "a:0", "a:65536", "a:x", "a:", "[]:1"]
)
def test_an_address_of_management_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="FANION_MANAGEMENT_LISTEN must be an address and a po"):
        read_settings({"FANION_MANAGEMENT_LISTEN": text})


@pytest.mark.parametrize(
    ("host", "management"),
    [("127.0.0.1", "127.0.0.1:8000"), ("0.0.0.0", "127.0.0.1:8000"), ("10.0.0.1", "0.0.0.0:8000")],
)
def test_two_listeners_cannot_have_one_address(host: str, management: str) -> None:
    with pytest.raises(SettingsError, match="must be another address than HOST and PORT"):
        read_settings({"FANION_HOST": host, "FANION_MANAGEMENT_LISTEN": management})


@pytest.mark.parametrize(
    ("settings", "mails", "operator"),
    [
        ({}, "https://fanion.example", "https://fanion.example"),
        (
            {"FANION_MANAGEMENT_LISTEN": "[::]:8001"},
            "https://fanion.example",
            "http://127.0.0.1:8001",
        ),
        (
            {
                "FANION_MANAGEMENT_LISTEN": "[::]:8001",
                "FANION_MANAGEMENT_URL": "https://m.example/",
            },
            "https://m.example",
            "https://m.example",
        ),
        ({"FANION_MANAGEMENT_URL": "https://m.example/x/"}, *["https://m.example/x"] * 2),
    ],
)
def test_links_lead_where_people_or_the_operator_reach_management(
    settings: dict[str, str], mails: str, operator: str
) -> None:
    read = read_settings({"FANION_PUBLIC_URL": "https://fanion.example/"} | settings)

    assert (read.mail_url, read.operator_url) == (mails, operator)
    assert read.address == "https://fanion.example"


@pytest.mark.parametrize(
    "url",
    [
        "http://a",
        "https://fanion.example.com",
        "https://example.com/fanion/",
        "HTTP://[::1]:80/a/b",
    ],
)
def test_a_public_address_may_have_a_port_and_a_path(url: str) -> None:
    assert read_settings({"FANION_PUBLIC_URL": url}).address == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        *("fanion.example.com", "//fanion.example.com", "https:fanion.example.com", "https://"),
        *("https:///fanion", "https://a b", "https://a:port", "https://a:70000", "https://a\n"),
        *("https://a/../b", "https://a//b", "https://a/<b>", 'https://a/"b"', "javascript://a/b\n"),
        *("https://bücher.example", "https://[::1", "https:ann:s3cret@a", "x://a/ann:s3cret@a"),
    ],
)
def test_a_public_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^FANION_PUBLIC_URL must be an address") as raised:
        read_settings({"FANION_PUBLIC_URL": url})

    assert "s3cret" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("environment", "networks"),
    [
        ({}, []),
        ({"TRUSTED_PROXIES": ""}, []),
        ({"TRUSTED_PROXIES": "10.0.0.1"}, ["10.0.0.1/32"]),
        ({"TRUSTED_PROXIES": "10.0.0.0/8,  ::1 fd00::/8,"}, ["10.0.0.0/8", "::1/128", "fd00::/8"]),
        ({"TRUSTED_PROXIES": "::ffff:10.0.0.0/104"}, ["10.0.0.0/8"]),
    ],
)
def test_which_proxies_are_trusted(environment: dict[str, str], networks: list[str]) -> None:
    settings = read_settings({f"{PREFIX}{name}": value for name, value in environment.items()})

    assert [str(network) for network in settings.trusted_networks] == networks


MAIL_SERVERS: dict[str, tuple[str, str, int, str, str]] = {
    "smtp://mail.example.com": ("smtp", "mail.example.com", 587, "", ""),
    "smtps://ann:pw@mail.example.com/": ("smtps", "mail.example.com", 465, "ann", "pw"),
    "smtp+plain://localhost": ("smtp+plain", "localhost", 25, "", ""),
    "smtp://a%40b:p%2F%3A@[::1]:2525": ("smtp", "::1", 2525, "a@b", "p/:"),
}


@pytest.mark.parametrize("url", MAIL_SERVERS)
def test_a_mail_server_is_read_from_its_url(url: str) -> None:
    scheme, host, port, user, password = MAIL_SERVERS[url]

    server = read_smtp_url(url)

    assert server == SmtpServer(scheme=scheme, host=host, port=port, user=user, password=password)
    assert "pw" not in repr(server)


@pytest.mark.parametrize(
    "url",
    [
        "smtp://",
        "smtp://:25",
        "smtp://a:0",
        "smtp://a:65536",
        "smtp://a:x",
        "smtp://[::1",
        "smtp://a/path",
        "smtp://a?x=1",
        "smtp://a#x",
        "smtp://:pw@a",
        "smtp://a%0Ab:pw@a",
        "mail.example.com",
    ],
)
def test_a_url_that_names_no_mail_server_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match=r"^SMTP_URL must") as raised:
        read_smtp_url(url)

    assert "pw" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "mailbox"),
    [
        ("fanion@example.com", ("", "fanion@example.com")),
        (" Fanion <fanion@example.com> ", ("Fanion", "fanion@example.com")),
        ('"Fanion, Inc." <fanion@example.com>', ("Fanion, Inc.", "fanion@example.com")),
        ("<fanion@example.com>", ("", "fanion@example.com")),
    ],
)
def test_the_sender_of_mails_is_an_address_with_or_without_a_name(
    text: str, mailbox: tuple[str, str]
) -> None:
    assert read_mailbox(text) == mailbox


@pytest.mark.parametrize("text", ["", "fanion", "a@b, c@d", "A <a@b> <c@d>", "A\nBcc: x <a@b>"])
def test_a_sender_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^MAIL_FROM must be an address"):
        read_mailbox(text)
