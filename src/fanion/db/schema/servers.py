"""The tables of what servers on one records store share, and by which they take turns.

Rows of turns expire.
"""

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    Uuid,
    false,
    text,
)

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import ID, metadata

NAME_CHARS_MAX = 100
HOLDER_CHARS_MAX = 40
NETWORK_CHARS_MAX = 200  # of two networks: a proxy's and a client's

# The table has one row. The event store and an embedded accept log are marked with the id;
# `event_store` is the event store's id, once there is one.
installation = Table(
    "installation",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("event_store", Uuid, nullable=True),
)

# The leases of background loops that only one server runs.
job_leases = Table(
    "job_leases",
    metadata,
    Column("name", String(NAME_CHARS_MAX), primary_key=True),
    Column("holder", String(HOLDER_CHARS_MAX), nullable=False),
    Column("held_until", UtcDateTime, nullable=False),
)

# What a command makes all servers on these records do: to pause for a moment, or to stay paused
# because everything was moved elsewhere. `held_until` ends a pause whose command has died.
maintenance = Table(
    "maintenance",
    metadata,
    Column("name", String(NAME_CHARS_MAX), primary_key=True),
    Column("state", String(20), nullable=False),
    Column("held_until", UtcDateTime, nullable=True),
    Column("note", Text, nullable=False),
)

# The event-store reads that servers run or wait to run, for requests and for background work. A
# user of 0 stands for none.
question_places = Table(
    "question_places",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("kind", String(NAME_CHARS_MAX), nullable=False),
    Column("project_id", ID, nullable=False),
    Column("user_id", ID, nullable=False, server_default=text("0")),
    Column("is_waiting", Boolean, nullable=False, server_default=false()),
    Column("since", UtcDateTime, nullable=True),
    Column("held_until", UtcDateTime, nullable=False),
    Index(None, "kind"),
)

# Cancellations of queries, by the names that their clients gave them, wherever the queries run.
query_cancellations = Table(
    "query_cancellations",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("project_id", ID, nullable=False),
    Column("query_id", Text, nullable=False),
    Column("requested_at", UtcDateTime, nullable=False),
    Index(None, "requested_at"),
)

# Failures of accounts, addresses and proxies, and the addresses that an account has used lately.
# Times are seconds of the Unix epoch.
sign_in_attempts = Table(
    "sign_in_attempts",
    metadata,
    Column("kind", String(NAME_CHARS_MAX), nullable=False),
    Column("account", String(NAME_CHARS_MAX), nullable=False),
    Column("network", String(NETWORK_CHARS_MAX), nullable=False),
    Column("failures", Integer, nullable=False),
    Column("last_at", Float, nullable=False),
    Column("until_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    PrimaryKeyConstraint("kind", "account", "network"),
    Index(None, "expires_at"),
)
