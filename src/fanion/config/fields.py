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
    """Address and port, such as `127.0.0.1:8001`, on which management, `/metrics` and the
    probes are answered; the address above then answers only SDKs and the probes:
    [proxy.md](proxy.md#two-addresses). Empty: one address for everything.
    """
    data: Path = Path("data")
    """The data folder."""
    database_url: str = ""
    """Records: `sqlite:////path/records.db` or `postgresql://user:password@host/db` (15 or
    newer), with the options `sslmode`, `target_session_attrs`, `host` (a folder with a socket),
    `passfile`, `krbsrvname` and `gsslib` of libpq. With PostgreSQL the accept log is stored
    there too. Without it, SQLite in the data folder.
    """
    events_url: str = ""
    """Events: `chdb:///path/events`, with the option `database`, or
    `clickhouse://user:password@host:8123/db`, `clickhouses://` with TLS, and the port of the
    HTTP interface; `?cluster=name` divides events among the shards of a
    [cluster](clickhouse-cluster.md). Without it, chDB in the data folder.
    """
    log_url: str = ""
    """The accept log in [Kafka](kafka.md):
    `kafka://user:password@host:9092,host:9092/name`, `kafkas://` with TLS, with the options
    `partitions` (32), `replicas` (3) and `retention_days` (7), by which missing topics are
    created, `mechanism` (`SCRAM-SHA-512`, `SCRAM-SHA-256` or `PLAIN`) and `ca`, a file with
    certificates. Needs PostgreSQL. Without it the accept log is in PostgreSQL, or with SQLite
    in the data folder.
    """
    public_url: str = ""
    """The address that clients and users connect to, with an optional path:
    `https://example.com/fanion`. Links in answers and in mails, the API's documentation and the
    output on start begin with it, whatever the address of the request. Required when mails are
    sent. An `http` or `https` URL without user, query and fragment; anything else stops the
    start. By default it is made of host and port.
    """
    management_url: str = ""
    """The address at which people reach management and the console, if SDKs connect to another
    one: with `FANION_MANAGEMENT_LISTEN` behind a proxy, or with a server of the
    [role](scale-out.md#roles) `api`. Links in mails, in answers of management and for new
    passwords begin with it. It has the form of `FANION_PUBLIC_URL`, which is used if this one
    is empty.
    """
    console: Literal["on", "off"] = "on"
    """`off` leaves out the web console: `/` is then a page with addresses and the state of the
    stores, and `make run` builds nothing.
    """
    log_level: str = "info"
    """`debug`, `info`, `warning`, `error`. With `warning` individual requests are not logged."""
    role: str = "all"
    """What this process serves: `all`, or some of `web`, `api`, `ingest` and `jobs`, separated
    by commas: [scale-out.md](scale-out.md#roles).
    """
    processes: int = 0
    """Processes that answer capture and flags, including the server itself. `0`: one for each
    core, at most 4. Each additional process takes 75 MB, plus memory for the flags that it
    answers. With `1` there is no preparer process either.
    """
    body_bytes_max: int = 20 * 1024**2 - 1  # api.md, Limits: a batch is smaller than 20 MB
    """Largest request body, as received and after decompression: by default less than 20 MiB.
    Larger: 413.
    """
    upload_bytes_max: int = 268_435_456  # a file of 7 million UUIDs
    """Largest upload of members for a static cohort, if the key is in the `Authorization`
    header. Larger: 413.
    """
    accept_log_bytes_max: int = 4 * 1024**3
    """Most bytes of requests that are accepted and not yet ingested. Beyond it capture answers
    503 with `Retry-After`. A log in Kafka is limited by its brokers instead.
    """
    spool_bytes_max: int = 8 * 1024**3
    """With PostgreSQL: most bytes of requests, before compression, that a server with the role
    `web` accepts and keeps in its data folder [while PostgreSQL is
    away](scale-out.md#captures-without-postgresql). Beyond it capture answers 503 with
    `Retry-After`. With `0` it keeps none.
    """
    shutdown_s: float = 8.0
    """Longest time to finish work after SIGTERM. Requests that are not ingested by then are
    ingested after the next start.
    """
    drain_s: float = 0.0
    """How long a server with the role `web` or `api` answers as before after SIGTERM while
    `/_ready` is 503, so that load balancers leave it out before it stops; at most 600:
    [proxy.md](proxy.md#several-servers).
    """
    decide_store_timeout_s: float = 0.5  # flags.md section 18: 300–600 ms
    """Longest wait for stored properties while evaluating flags. After that, flags that need
    them are left out and the answer says so.
    """
    decide_per_s: float = 0.0
    """Most requests to `/decide` and `/flags` a second with one project key, on average; `0`
    for no limit. Beyond it the answer is 429. Each server counts separately, and answers flags
    in one process.
    """
    decide_burst: int = 500
    """With `FANION_DECIDE_PER_S`: size of a burst after a pause, in requests."""
    cohorts_every_s: float = 900.0  # cohorts.md section 11: 15 minutes
    """Time after which a dynamic cohort is calculated again."""
    cohort_lease_s: float = 60.0
    """Lease of a calculation: another server takes over if the calculating one has not renewed
    it for this long.
    """
    deleted_cohorts_kept_days: float = 7.0
    """Days after its deletion for which the members of a cohort, and files that are not
    imported yet, are kept so that it can be restored. At most 36500.
    """
    rollbacks_every_s: float = 3600.0  # flags.md section 17: hourly
    """How often the rollback conditions of a flag are checked."""
    dashboards_every_s: float = 900.0
    """Time after which the tiles of a dashboard that was opened in the last day are calculated
    again.
    """
    alerts_every_s: float = 900.0
    """How often each alert on a number of an insight is checked."""
    questions_at_once: int = 3
    """How many interactive reads of the event store (questions, lists, timelines, previews, …)
    run at the same time, on all servers on one PostgreSQL together; 1 to 1000. Others wait in
    order; projects take turns, and within a project its users. More than there are cores make
    each one slower.
    """
    questions_at_once_of_project: int = 2
    """How many of these reads run at the same time for one project."""
    questions_at_once_of_user: int = 2
    """How many of these reads run at the same time for one user in all projects together."""
    questions_waiting: int = 1_000
    """How many of these reads may wait on one server: half as many of one project, and a
    quarter of one user in it. Beyond it the answer is 503 with `Retry-After`.
    """
    questions_wait_s: float = 60.0
    """How long each of these reads may wait, in seconds. Beyond it the answer is 503 with
    `Retry-After`.
    """
    question_s: int = 30
    """Longest time of one question, and of each statement of a list, in the event store, in
    seconds. Beyond it the answer is 400 and says what to make smaller.
    """
    question_memory_bytes: int = 1_000_000_000
    """Most memory that a question takes in the event store. Grouping and sorting continue on
    disk beyond half of it; beyond all of it the answer is 400.
    """
    property_columns: int = 10
    """How many properties of events may have a dedicated column, which makes questions about
    them faster ([analysis](analysis.md#columns-of-properties)). With 0, all such columns are
    removed.
    """
    backup_to: str = ""
    """Where the server makes [backups](backup.md) of the data folder to: a folder outside of
    it, or `s3://bucket/prefix`. Empty: it makes none.
    """
    backup_every_s: float = 86_400.0
    """Seconds from the start of one backup to the next. A failed one is tried again after 15
    minutes.
    """
    backup_keep: str = "30d"
    """Which backups are kept: those of so many days (`30d`), or so many (`14`); the newest one
    always is. Empty: all.
    """
    webhooks_allow_private: bool = False
    """Allow webhooks to loopback, private and other addresses that are not public. An
    administrator of a project can then reach whatever this server can reach.
    """
    trusted_proxies: str = ""
    """Addresses and networks of the proxies, separated by commas or spaces: `127.0.0.1 ::1`,
    `10.0.0.0/8`. Only their `X-Forwarded-For`, `-Host`, `-Proto` and `-Prefix` are used:
    [proxy.md](proxy.md).
    """
    geoip_db: str = ""
    """Path of a MaxMind database file (city or country). Its `$geoip_…` properties are added to
    events, persons and flag requests, unless `$geoip_disable` (flags: `geoip_disable`) is true.
    An invalid file stops the start. Without it no location is added.
    """
    flags_snapshot: str = ""
    """Path of a file that `fanion flags snapshot` has written. The server starts from it if its
    own copy of flags is older or has fewer projects:
    [scale-out.md](scale-out.md#flags-without-the-records-store). A missing or damaged file
    stops the start.
    """
    smtp_url: str = ""
    """Mail server: `smtp://user:password@mail.example.com:587` starts TLS with STARTTLS and
    sends nothing without it, `smtps://…` (465) uses TLS from the start, `smtp+plain://…` (25)
    is for a server on the same machine or network and takes no password. Requires
    `FANION_MAIL_FROM` and `FANION_PUBLIC_URL`. Without it no mail is sent: [mail.md](mail.md).
    """
    mail_from: str = ""
    """The sender address of mails: `fanion@example.com` or `Fanion <fanion@example.com>`."""
    password_sign_in: Literal["on", "off"] = "on"
    """`off`: users sign in only through OpenID Connect, or with a link that the operator makes
    on the command line. Requires `FANION_OIDC_ISSUER`.
    """
    oidc_issuer: str = ""
    """Issuer of the OpenID Connect provider, exactly as it names itself, such as
    `https://id.example.com/realms/team`: [openid-connect.md](openid-connect.md). `https`, or
    `http` to this machine. Empty: no sign-in through OpenID Connect.
    """
    oidc_client_id: str = ""
    """The client id that the provider has given to Fanion."""
    oidc_client_secret: str = ""
    """The client secret. Empty for a public client, which only PKCE protects."""
    oidc_client_secret_file: str = ""
    """Path of a file with the client secret, instead of the variable. A file that cannot be
    read stops the start.
    """
    oidc_scopes: str = "openid email profile"
    """Requested scopes, separated by spaces; some providers send groups only if `groups` is
    among them.
    """
    oidc_domains: str = ""
    """Domains of e-mail addresses, separated by commas or spaces. A user whose verified address
    is in one of them signs in to the account with that address.
    """
    oidc_groups_claim: str = "groups"
    """Name of the claim that lists the user's groups."""
    oidc_groups: str = ""
    """The levels and roles that groups grant, as JSON: `{"staff": {"level": "member"}, "leads":
    {"level": "admin", "roles": ["Releases"]}}`.
    """
    oidc_create_accounts: bool = False
    """Whether users with an address in `FANION_OIDC_DOMAINS` who have no account get one when
    they sign in.
    """
