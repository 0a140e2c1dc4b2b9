"""The fields of the settings, each with the text that the reference shows of it."""

from pathlib import Path
from typing import Literal

import msgspec


class SettingFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings that an operator may choose; each field is the variable FANION_<NAME>.

    The text below a field is Markdown, with links as from a page of docs/. `make docs` makes a
    table of them.
    """

    host: str = "127.0.0.1"
    """Address to listen on. `0.0.0.0` opens it to the network; put a proxy with TLS in front."""
    port: int = 8000
    """Port to listen on."""
    management_listen: str = ""
    """Second address and port, such as `127.0.0.1:8001`, for management, `/metrics` and the probes.
    The address of `FANION_HOST` then answers only SDKs and the probes:
    [proxy.md](proxy.md#two-addresses). Empty: one address for everything.
    """
    data: Path = Path("data")
    """Data folder, with everything except stores that have a URL of their own."""
    database_url: str = ""
    """URL of the records store; without it, SQLite in the data folder.
    It is `sqlite:////path/records.db` or `postgresql://user:password@host/db` (15 or newer), with
    the options `sslmode`, `target_session_attrs`, `host` (a folder with a socket), `passfile`,
    `krbsrvname` and `gsslib` of libpq. With PostgreSQL the accept log is stored there too.
    """
    events_url: str = ""
    """URL of the event store; without it, chDB in the data folder.
    It is `chdb:///path/events`, with the option `database`, or
    `clickhouse://user:password@host:8123/db`, `clickhouses://` with TLS, and the port of the
    HTTP interface; `?cluster=name` divides events among the shards of a
    [cluster](clickhouse-cluster.md).
    """
    events_sql_url: str = ""
    """URL of the same ClickHouse database with another user, which runs SQL that people write.
    [Row policies](sql.md#row-policies) hide other projects from it. Empty: the user of
    `FANION_EVENTS_URL`.
    """
    log_url: str = ""
    """URL of an accept log in [Kafka](kafka.md), which requires PostgreSQL.
    It is `kafka://user:password@host:9092,host:9092/name`, `kafkas://` with TLS, with the options
    `partitions` (32), `replicas` (3) and `retention_days` (7), by which missing topics are
    created, `mechanism` (`SCRAM-SHA-512`, `SCRAM-SHA-256` or `PLAIN`) and `ca`, a file with
    certificates. Without it the accept log is in PostgreSQL, or with SQLite
    in the data folder.
    """
    public_url: str = ""
    """URL that clients and users connect to, such as `https://example.com/fanion`.
    Links in answers and in mails, the API's documentation and the output on start begin with it,
    whatever the address of the request. Required when mails are sent. An `http` or `https` URL,
    with or without a path, without user, query and fragment; anything else stops the start. By
    default it is made of host and port.
    """
    management_url: str = ""
    """URL at which people reach management and the console, if SDKs connect to another one.
    SDKs do with `FANION_MANAGEMENT_LISTEN` behind a proxy, or with a server of the
    [role](scale-out.md#roles) `api`. Links in mails, in answers of management and for new
    passwords begin with it. It has the form of `FANION_PUBLIC_URL`, which is used if this one
    is empty.
    """
    console: Literal["on", "off"] = "on"
    """Web console, `on` or `off`.
    Without it `/` is a page with addresses and the state of the stores, and `make run` builds
    nothing.
    """
    log_level: str = "info"
    """Lowest level of lines in the log: `debug`, `info`, `warning` or `error`.
    With `warning` individual requests are not logged.
    """
    role: str = "all"
    """[Roles](scale-out.md#roles) of this process, separated by commas.
    `all`, or some of `web`, `api`, `ingest` and `jobs`.
    """
    processes: int = 0
    """Number of processes that answer capture and flags, including the server itself.
    `0`: one for each core, at most 4. Each additional process takes 75 MB, plus memory for the
    flags that it answers. With `1` there is no preparer process either.
    """
    body_bytes_max: int = 20 * 1024**2 - 1  # api.md, Limits: a batch is smaller than 20 MB
    """Largest request body in bytes, as received and after decompression; by default below 20 MiB.
    Larger: 413.
    """
    upload_bytes_max: int = 268_435_456  # a file of 7 million UUIDs
    """Largest upload of members for a static cohort, in bytes.
    It holds if the key is in the `Authorization` header. Larger: 413.
    """
    accept_log_bytes_max: int = 4 * 1024**3
    """Most bytes of requests that are accepted and not yet ingested.
    Beyond it capture answers 503 with `Retry-After`. A log in Kafka is limited by its brokers
    instead.
    """
    spool_bytes_max: int = 8 * 1024**3
    """Most bytes of requests, before compression, that a server keeps while PostgreSQL is away.
    A server with the role `web` accepts them and keeps them
    [in its data folder](scale-out.md#captures-without-postgresql). Beyond it capture answers 503
    with `Retry-After`. With `0` it keeps none.
    """
    shutdown_s: float = 8.0
    """Longest time to finish work after SIGTERM, in seconds.
    Requests that are not ingested by then are ingested after the next start.
    """
    drain_s: float = 0.0
    """Seconds for which a server answers as before after SIGTERM, with `/_ready` 503; at most 600.
    Load balancers leave a server with the role `web` or `api` out meanwhile, before it stops:
    [proxy.md](proxy.md#several-servers).
    """
    decide_store_timeout_s: float = 0.5  # flags.md section 18: 300–600 ms
    """Longest wait for stored properties while flags are evaluated, in seconds.
    After that, flags that need them are left out and the answer says so.
    """
    decide_per_s: float = 0.0
    """Most requests for flags a second with one project key, on average; `0` for no limit.
    They are those to `/decide` and `/flags`. Beyond it the answer is 429. With a limit, each
    server counts separately, and answers flags in one process.
    """
    decide_burst: int = 500
    """Most requests for flags in a burst after a pause, where `FANION_DECIDE_PER_S` limits them."""
    cohorts_every_s: float = 900.0  # cohorts.md section 11: 15 minutes
    """Seconds after which a dynamic cohort is calculated again."""
    cohort_lease_s: float = 60.0
    """Lease of the calculation of a cohort, in seconds.
    Another server takes over if the calculating one has not renewed it for this long.
    """
    deleted_cohorts_kept_days: float = 7.0
    """Days for which the members of a deleted cohort are kept, so that it can be restored.
    Its files that are not imported yet are kept as long. At most 36500.
    """
    rollbacks_every_s: float = 3600.0  # flags.md section 17: hourly
    """Seconds between two checks of the rollback conditions of a flag."""
    dashboards_every_s: float = 900.0
    """Seconds after which tiles of a dashboard are calculated again.
    Only those of a dashboard that was opened in the last day are.
    """
    alerts_every_s: float = 900.0
    """Seconds between two checks of an alert on a number of an insight."""
    questions_at_once: int = 3
    """Most interactive reads of the event store that run at the same time; 1 to 1000.
    They are questions, lists, timelines, previews and others, of all servers on one PostgreSQL
    together. Others wait in order; projects take turns, and within a project its users. More than
    there are cores make each one slower.
    """
    questions_at_once_of_project: int = 2
    """Most interactive reads of the event store that run at the same time for one project."""
    questions_at_once_of_user: int = 2
    """Most interactive reads of the event store that run at the same time for one user.
    Those in all projects count together.
    """
    questions_waiting: int = 1_000
    """Most interactive reads of the event store that wait on one server.
    Half as many may be of one project, and a quarter of one user in it. Beyond it the answer is
    503 with `Retry-After`.
    """
    questions_wait_s: float = 60.0
    """Longest wait of an interactive read of the event store, in seconds.
    Beyond it the answer is 503 with `Retry-After`.
    """
    question_s: int = 30
    """Longest time of a question, and of each statement of a list, in the event store, in seconds.
    Beyond it the answer is 400 and says what to make smaller.
    """
    question_memory_bytes: int = 1_000_000_000
    """Most memory that a question takes in the event store, in bytes.
    Grouping and sorting continue on disk beyond half of it; beyond all of it the answer is 400.
    """
    property_columns: int = 10
    """Most properties of events that have a [dedicated column](analysis.md#columns-of-properties).
    It makes questions about them faster. With 0, all such columns are removed.
    """
    backup_to: str = ""
    """Folder or `s3://bucket/prefix` to which the server makes [backups](backup.md).
    They are of the data folder, and a folder for them is outside of it. Empty: it makes none.
    """
    backup_every_s: float = 86_400.0
    """Seconds from the start of one backup to the next.
    A failed one is tried again after 15 minutes.
    """
    backup_keep: str = "30d"
    """Backups that are kept: those of so many days (`30d`), or so many (`14`).
    The newest one always is. Empty: all.
    """
    webhooks_allow_private: bool = False
    """Permission for webhooks to loopback, private and other addresses that are not public.
    An administrator of a project can then reach whatever this server can reach.
    """
    exports_allow_private: bool = False
    """Permission for [batch exports](exports.md#batch-exports) to such addresses, and without TLS.
    An administrator of a project can then reach whatever this server can reach.
    """
    trusted_proxies: str = ""
    """Addresses and networks of the proxies, such as `127.0.0.1 ::1` or `10.0.0.0/8`.
    They are separated by commas or spaces. Only their `X-Forwarded-For`, `-Host`, `-Proto` and
    `-Prefix` are used: [proxy.md](proxy.md).
    """
    geoip_db: str = ""
    """Path of a MaxMind database file (city or country).
    Its `$geoip_…` properties are added to events, persons and flag requests, unless
    `$geoip_disable` (flags: `geoip_disable`) is true. An invalid file stops the start. Without it
    no location is added.
    """
    flags_snapshot: str = ""
    """Path of a file that `fanion flags snapshot` has written.
    The server starts from it if its own copy of flags is older or has fewer projects:
    [scale-out.md](scale-out.md#flags-without-the-records-store). A missing or damaged file
    stops the start.
    """
    smtp_url: str = ""
    """URL of the mail server; without it no mail is sent: [mail.md](mail.md).
    `smtp://user:password@mail.example.com:587` starts TLS with STARTTLS and sends nothing without
    it, `smtps://…` (465) uses TLS from the start, `smtp+plain://…` (25) is for a server on the
    same machine or network and takes no password. Requires `FANION_MAIL_FROM` and
    `FANION_PUBLIC_URL`.
    """
    mail_from: str = ""
    """Sender address of mails: `fanion@example.com` or `Fanion <fanion@example.com>`."""
    password_sign_in: Literal["on", "off"] = "on"
    """Sign-in with a password, `on` or `off`.
    With `off` users sign in only through OpenID Connect, or with a link that the operator makes on
    the command line. It requires `FANION_OIDC_ISSUER`.
    """
    oidc_issuer: str = ""
    """Issuer of the OpenID Connect provider, such as `https://id.example.com/realms/team`.
    It is exactly as the provider names itself: [openid-connect.md](openid-connect.md). `https`, or
    `http` to this machine. Empty: no sign-in through OpenID Connect.
    """
    oidc_client_id: str = ""
    """Client id that the OpenID Connect provider has given to Fanion."""
    oidc_client_secret: str = ""
    """Client secret at the OpenID Connect provider.
    Empty for a public client, which only PKCE protects.
    """
    oidc_client_secret_file: str = ""
    """Path of a file with the client secret, instead of `FANION_OIDC_CLIENT_SECRET`.
    A file that cannot be read stops the start.
    """
    oidc_scopes: str = "openid email profile"
    """Scopes that are requested from the OpenID Connect provider, separated by spaces.
    Some providers send groups only if `groups` is among them.
    """
    oidc_domains: str = ""
    """Domains of e-mail addresses with which users of the OpenID Connect provider sign in.
    They are separated by commas or spaces. A user whose verified address is in one of them signs
    in to the account with that address.
    """
    oidc_groups_claim: str = "groups"
    """Name of the OpenID Connect claim that lists a user's groups."""
    oidc_groups: str = ""
    """Levels and roles that groups of the OpenID Connect provider grant, as JSON.
    An example is
    `{"staff": {"level": "member"}, "leads": {"level": "admin", "roles": ["Releases"]}}`.
    """
    oidc_create_accounts: bool = False
    """Creation of accounts for users who sign in through OpenID Connect and have none.
    Only users with an address in `FANION_OIDC_DOMAINS` get one.
    """
