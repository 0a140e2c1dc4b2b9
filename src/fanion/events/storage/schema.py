"""Tables of the event store, as statements that only go forward, and the settings they rely on.

Reading `attributes` (the properties, column by column):
- a key that holds a dot is one step of a path, written `%2E`: `{"a.b": 1}` is attributes.`a%2Eb`;
- text stays text: dates inside properties are not turned into date types;
- null is the same as absent; of two equal paths in one object the first wins;
- a property with too deeply nested arrays or objects is its JSON as text. `properties` is always
  exact.
"""

from typing import Final

# Arrays nested more deeply are not split into columns. In engine 26.9, `[null,[null,[…` costs
# milliseconds at 14 levels and 100 s of CPU at 40, and arrays nested 900 deep make sorted reads
# over several parts fail (measured; the parser stops at 300). A row with such a property brings
# `shallow`, from which columns are made instead. Giving such a row its `attributes` would not be
# enough, because a column default is computed for a whole block.
ARRAY_DEPTH_MAX: Final = 8
OBJECT_DEPTH_MAX: Final = 100

# Repeated inserts are recognised by token for this many written parts, and by uuid for ever.
_TOKENS_KEPT = 1000

SCHEMA_VERSIONS = """
  CREATE TABLE IF NOT EXISTS schema_version (
    version    UInt32,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
  )
  ENGINE = MergeTree
  ORDER BY version
"""

# For each version to which a store was brought: the oldest version whose program works with it.
SCHEMA_COMPATIBILITY = """
  CREATE TABLE IF NOT EXISTS schema_compatibility (
    version        UInt32,
    oldest_program UInt32
  )
  ENGINE = MergeTree
  ORDER BY version
"""

_EVENT_COLUMNS = """project_id  UInt64,
    uuid        UUID,
    event       LowCardinality(String),
    distinct_id String CODEC(ZSTD(1)),
    person_id   UUID,
    timestamp   DateTime64(6, 'UTC'),
    received_at DateTime64(6, 'UTC'),
    properties  String CODEC(ZSTD(1))"""

ATTRIBUTES_TYPE: Final = "JSON(max_dynamic_paths = 256)"

# For rows that bring no `attributes`. The result is an empty object if there are none: with
# `ifNull`, a tenth of the insert was spent on making a copy.
_ATTRIBUTES = f"""assumeNotNull(
                  accurateCastOrNull(if(shallow = '', properties, shallow), '{ATTRIBUTES_TYPE}'))"""

# New parts have one file for all columns: making one for each path of the properties took a tenth
# of the insert. Merged parts have a file for each column.
_WIDE_BYTES_MIN = 64 * 2**20

# The order serves "one project, some days, some events" and brings copies of one event together.
# 2,048 rows a granule: a page of 100 events lies in 100 granules, and lookups by id took 30 ms
# instead of 120 ms (5 M events).
# Merges are forced to disk too: the embedded engine drops the parts they replace at once.
# Merges begin with more parts than usual, eight: they took 12 µs an event with the usual five, and
# take 7 to 8.
# All time before 2010 is one partition, so that an import of any age writes few parts.
_EVENTS = f"""
  CREATE TABLE IF NOT EXISTS events (
    {_EVENT_COLUMNS},
    shallow     String EPHEMERAL '',
    attributes  {ATTRIBUTES_TYPE} DEFAULT {_ATTRIBUTES},
    INDEX by_uuid uuid TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_distinct_id distinct_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_person person_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_acceptance received_at TYPE minmax GRANULARITY 1
  )
  ENGINE = ReplacingMergeTree
  PARTITION BY greatest(toYYYYMM(timestamp), 201001)
  ORDER BY (project_id, toDate32(timestamp), event, cityHash64(distinct_id), cityHash64(uuid))
  SETTINGS index_granularity = 2048,
           min_bytes_for_wide_part = {_WIDE_BYTES_MIN},
           merge_selector_base = 8,
           non_replicated_deduplication_window = {_TOKENS_KEPT},
           fsync_after_insert = 1,
           fsync_part_directory = 1,
           min_rows_to_fsync_after_merge = 1
"""

# A second copy, in which all events of one distinct id lie side by side: the newest 100 of one id,
# of 10 million events, are read in 30 ms, from the table above in 130 (decision 10). Deleting and
# squashing change both.
_EVENTS_BY_DISTINCT_ID = f"""
  CREATE TABLE IF NOT EXISTS events_by_distinct_id (
    {_EVENT_COLUMNS}
  )
  ENGINE = ReplacingMergeTree
  PARTITION BY greatest(toYear(timestamp), 2010)
  ORDER BY (project_id, distinct_id, timestamp, uuid)
  SETTINGS index_granularity = 512,
           min_bytes_for_wide_part = {_WIDE_BYTES_MIN},
           non_replicated_deduplication_window = {_TOKENS_KEPT},
           fsync_after_insert = 1,
           fsync_part_directory = 1,
           min_rows_to_fsync_after_merge = 1
"""

COPIED = """
  SELECT project_id, uuid, event, distinct_id, person_id, timestamp, received_at, properties
    FROM events
"""

# Each insert writes both tables.
COPY = f"""
  CREATE MATERIALIZED VIEW IF NOT EXISTS copy_by_distinct_id TO events_by_distinct_id AS
  {COPIED}
"""

_PERSONS = f"""
  CREATE TABLE IF NOT EXISTS persons (
    project_id UInt64,
    person_id  UUID,
    properties String CODEC(ZSTD(1)),
    created_at DateTime64(6, 'UTC'),
    version    UInt64,
    is_deleted UInt8,
    shallow    String EPHEMERAL '',
    attributes {ATTRIBUTES_TYPE} DEFAULT {_ATTRIBUTES}
  )
  ENGINE = ReplacingMergeTree(version, is_deleted)
  ORDER BY (project_id, person_id)
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
"""

_GROUPS = f"""
  CREATE TABLE IF NOT EXISTS groups (
    project_id       UInt64,
    group_type_index UInt8,
    group_key        String,
    properties       String CODEC(ZSTD(1)),
    created_at       DateTime64(6, 'UTC'),
    version          UInt64,
    is_deleted       UInt8,
    shallow          String EPHEMERAL '',
    attributes       {ATTRIBUTES_TYPE} DEFAULT {_ATTRIBUTES}
  )
  ENGINE = ReplacingMergeTree(version, is_deleted)
  ORDER BY (project_id, group_type_index, group_key)
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
"""

_PERSON_OVERRIDES = """
  CREATE TABLE IF NOT EXISTS person_overrides (
    project_id UInt64,
    old_person UUID,
    new_person UUID,
    version    UInt64
  )
  ENGINE = ReplacingMergeTree(version)
  ORDER BY (project_id, old_person)
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
"""

# Members of static cohorts, passed in for the statement of one calculation and useless afterwards.
_COHORT_INPUTS = """
  CREATE TABLE IF NOT EXISTS cohort_inputs (
    run        UUID,
    cohort_id  UInt64,
    person_id  UUID,
    written_at DateTime DEFAULT now()
  )
  ENGINE = MergeTree
  PARTITION BY toDate(written_at)
  ORDER BY (run, cohort_id)
  TTL written_at + INTERVAL 1 DAY
  SETTINGS ttl_only_drop_parts = 1
"""

# The sessions, a row each, with the aggregates that `insights/sessions/sql.py` calculates, under
# the same names. The newest version of a row is the right one.
_SESSION_ROWS = """
  CREATE TABLE IF NOT EXISTS session_rows (
    project_id                 UInt64,
    session_id                 String CODEC(ZSTD(1)),
    started                    DateTime64(6, 'UTC'),
    ended                      DateTime64(6, 'UTC'),
    whos                       Array(UUID),
    views                      UInt64,
    `$pageview count`          UInt64,
    `$autocapture count`       UInt64,
    `$screen count`            UInt64,
    clicked                    UInt8,
    entry_url                  String CODEC(ZSTD(1)),
    exit_url                   String CODEC(ZSTD(1)),
    `first $referring_domain`  String CODEC(ZSTD(1)),
    `first utm_source`         String CODEC(ZSTD(1)),
    `first utm_medium`         String CODEC(ZSTD(1)),
    `first utm_campaign`       String CODEC(ZSTD(1)),
    `first utm_term`           String CODEC(ZSTD(1)),
    `first utm_content`        String CODEC(ZSTD(1)),
    `first gclid`              String CODEC(ZSTD(1)),
    `first fbclid`             String CODEC(ZSTD(1)),
    `first gad_source`         String CODEC(ZSTD(1)),
    version                    UInt64,
    INDEX by_start started TYPE minmax GRANULARITY 1,
    INDEX by_end ended TYPE minmax GRANULARITY 1,
    INDEX by_length dateDiff('second', started, ended) TYPE minmax GRANULARITY 1
  )
  ENGINE = ReplacingMergeTree(version)
  ORDER BY (project_id, session_id)
  SETTINGS index_granularity = 2048,
           fsync_after_insert = 1,
           fsync_part_directory = 1,
           min_rows_to_fsync_after_merge = 1
"""

# The sessions whose rows are calculated in one run, useless afterwards.
_SESSION_TOUCHES = """
  CREATE TABLE IF NOT EXISTS session_touches (
    run        UUID,
    project_id UInt64,
    session_id String,
    first      DateTime64(6, 'UTC'),
    last       DateTime64(6, 'UTC')
  )
  ENGINE = MergeTree
  PARTITION BY run
  ORDER BY (project_id, session_id)
"""

# How far the rows of sessions follow the events; the row of the highest version counts.
_SESSION_ROWS_STATE = """
  CREATE TABLE IF NOT EXISTS session_rows_state (
    version       UInt64,
    events_table  String,
    last_insert   Int64,
    last_mutation Int64,
    step          String,
    filled_to     Int32
  )
  ENGINE = ReplacingMergeTree(version)
  ORDER BY tuple()
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1
"""

# How many questions have used which properties of events, by day.
_PROPERTY_USES = """
  CREATE TABLE IF NOT EXISTS property_uses (
    day        Date,
    project_id UInt64,
    property   String,
    uses       UInt64
  )
  ENGINE = SummingMergeTree
  PARTITION BY toMonday(day)
  ORDER BY (day, project_id, property)
  TTL day + INTERVAL 40 DAY
  SETTINGS ttl_only_drop_parts = 1
"""

# The channel of each session and its views: lists of pages with an element for each view, and lists
# of values that seldom change (`insights/sessions/kept_views_sql.py`).
_SESSION_VIEWS = """
  ALTER TABLE session_rows
    ADD COLUMN IF NOT EXISTS channel                             LowCardinality(String),
    ADD COLUMN IF NOT EXISTS `page $pathname`                    Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `page $screen_name`                 Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `page who`                          Array(UInt32),
    ADD COLUMN IF NOT EXISTS `page views`                        Array(UInt32),
    ADD COLUMN IF NOT EXISTS `setting $browser`                  Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $os`                       Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $device_type`              Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $viewport_width`           Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $viewport_height`          Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $browser_language`         Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $timezone_offset`          Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $geoip_country_code`       Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $geoip_subdivision_1_code` Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $geoip_subdivision_1_name` Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting $geoip_city_name`          Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `setting who`                       Array(UInt32),
    ADD COLUMN IF NOT EXISTS `setting views`                     Array(UInt32)
"""

# The schema of version 0.9.0, the first from which a store can be upgraded.
BASELINE_VERSION: Final = 8
BASELINE: Final = (
    _EVENTS,
    _PERSONS,
    _PERSON_OVERRIDES,
    _COHORT_INPUTS,
    _EVENTS_BY_DISTINCT_ID,
    COPY,
    _GROUPS,
)
# Each leads to the next version. Never edit one that has been released: append the next. Like those
# of the baseline each must bear being run twice.
MIGRATIONS: Final[tuple[str, ...]] = (
    _SESSION_ROWS,
    _SESSION_TOUCHES,
    _SESSION_ROWS_STATE,
    _PROPERTY_USES,
    _SESSION_VIEWS,
)
VERSION: Final = BASELINE_VERSION + len(MIGRATIONS)

# The oldest version of the schema whose program works with this one too. With a migration that does
# more than add what older programs leave alone, raise it to the version to which that leads.
OLDEST_PROGRAM: Final = 8

# The tables that hold events.
EVENT_TABLES: Final = ("events", "events_by_distinct_id")

# How text becomes `attributes`, how these become text again, and how inserts behave, for every
# client of the store.
SESSION_SETTINGS: Final[dict[str, int | str]] = {
    "session_timezone": "UTC",
    "type_json_skip_duplicated_paths": 1,
    "json_type_escape_dots_in_keys": 1,
    "input_format_try_infer_dates": 0,
    "input_format_try_infer_datetimes": 0,
    "output_format_json_escape_forward_slashes": 0,
    "output_format_json_quote_64bit_integers": 0,
    "async_insert": 0,
    # Mutations are polled until they end: they may take longer than a statement may.
    "mutations_sync": 0,
    # An import may touch every partition; until 2026 there can be at most 200.
    "max_partitions_per_insert_block": 0,
}
