"""The tables of the event store, copied from one engine to another and compared there.

Both engines compute checksums of the rows of each project and day. What differs is copied, in
blocks of some ten thousand rows; what still differs then is deleted in the target and copied again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from clickhouse_connect.driver.client import Client

from fanion.events.storage.event_tables import event_tables
from fanion.events.storage.migrate import table_exists
from fanion.events.storage.schema import ARRAY_DEPTH_MAX, OBJECT_DEPTH_MAX

# About 50 MB of events.
BLOCK_ROWS: Final = 50_000
PARTS_MAX: Final = 1_000  # in one condition
# Rows that a server may have drawn a version for, and mirrors later than rows of higher versions.
VERSIONS_OVERLAP: Final = 100_000
_INSERT_SETTINGS: Final = {"optimize_on_insert": 0, "distributed_foreground_insert": 1}
_READ_SETTINGS: Final = {"do_not_merge_across_partitions_select_final": 1}

# A property that is nested too deeply for columns brings another text (`schema.py`). Rows with
# fewer brackets than that have none.
_SHALLOW: Final = f"""if(countSubstrings(properties, '[') > {ARRAY_DEPTH_MAX}
      OR countSubstrings(properties, '{{') > {OBJECT_DEPTH_MAX}, toJSONString(attributes), '')"""

_DIGESTS: Final = """
  SELECT project_id, toString({part}) AS part, count() AS rows, sum(cityHash64({hashed})) AS digest
    FROM {table} FINAL
   WHERE {where}
GROUP BY project_id, part
"""
_BLOCK: Final = """
  SELECT {columns}
    FROM {table} {final}
   WHERE {where}
     AND cityHash64({key}) % {{blocks:UInt64}} = {{block:UInt64}}
"""
_DELETE: Final = "ALTER TABLE {altered} DELETE WHERE {where}"
_USES: Final = """
  SELECT day, project_id, property, sum(uses) AS uses FROM property_uses
GROUP BY day, project_id, property
"""

Advance = Callable[[int], None]
# A project, and a part of its rows as text.
Part = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Digest:
    rows: int
    digest: int


Digests = Mapping[Part, Digest]
Doubts = Mapping[str, Sequence[Part]]  # by table


class EventsDiffer(Exception):
    """A table that is not the same in both engines after it was copied."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A table that is copied.

    Attributes:
        columns: What is inserted, each with the expression that reads it.
        part: Divides the rows of a project; the order of the table serves it.
        literal: How a text becomes a part again.
        key: Divides the rows of a part into blocks.
        quick: What tells whether rows were added, deleted or given to other persons.
        thorough: What tells whether rows are the same.
        is_versioned: Whether a later row has a higher `version`.
    """

    table: str
    columns: Mapping[str, str]
    part: str
    key: str
    quick: str
    thorough: str
    is_versioned: bool = False
    literal: str = "{}"

    def among(self, parts: Sequence[Part]) -> str:
        """Return the condition that a row is in one of some parts."""
        listed = ", ".join(f"({project}, {self.literal.format(part)})" for project, part in parts)
        return f"(project_id, {self.part}) IN ({listed})"


_EVENT: Final = (
    "project_id", "uuid", "event", "distinct_id", "person_id", "timestamp", "received_at",
    "properties",
)  # fmt: skip


def _as_they_are(*names: str) -> dict[str, str]:
    return {name: name for name in names}


EVENTS: Final = Copied(
    "events",
    {**_as_they_are(*_EVENT), "shallow": _SHALLOW},
    part="toDate32(timestamp)",
    literal="toDate32('{}')",
    key="uuid",
    quick="uuid, person_id",
    thorough=f"{', '.join(_EVENT)}, toJSONString(attributes)",
)
# Inserts into `events` fill it, so that it is the same already.
EVENTS_BY_DISTINCT_ID: Final = Copied(
    "events_by_distinct_id",
    _as_they_are(*_EVENT),
    part="toDate32(timestamp)",
    literal="toDate32('{}')",
    key="uuid",
    quick="uuid, person_id",
    thorough=", ".join(_EVENT),
)
_ENTITY: Final = ("properties", "created_at", "version", "is_deleted")
PERSONS: Final = Copied(
    "persons",
    {**_as_they_are("project_id", "person_id", *_ENTITY), "shallow": _SHALLOW},
    part="cityHash64(person_id) % 64",
    key="person_id",
    quick="person_id, version",
    thorough="person_id, properties, created_at, version, toJSONString(attributes)",
    is_versioned=True,
)
GROUPS: Final = Copied(
    "groups",
    {
        **_as_they_are("project_id", "group_type_index", "group_key", *_ENTITY),
        "shallow": _SHALLOW,
    },
    part="group_type_index",
    key="group_key",
    quick="group_key, version",
    thorough="group_key, properties, created_at, version, toJSONString(attributes)",
    is_versioned=True,
)
OVERRIDES: Final = Copied(
    "person_overrides",
    _as_they_are("project_id", "old_person", "new_person", "version"),
    part="cityHash64(old_person) % 16",
    key="old_person",
    quick="old_person, new_person, version",
    thorough="old_person, new_person, version",
    is_versioned=True,
)
COPIED: Final = (EVENTS, EVENTS_BY_DISTINCT_ID, PERSONS, GROUPS, OVERRIDES)
# Tables that are not copied: they are calculated, or are of no use afterwards.
NOT_COPIED: Final = (
    "cohort_inputs",
    "schema_compatibility",
    "schema_version",
    "session_rows",
    "session_rows_state",
    "session_touches",
)
# A part of these minutes is copied anew where a day has more rows than a block.
_SLOT: Final = "toStartOfInterval(received_at, INTERVAL 10 MINUTE)"


@dataclass(frozen=True, slots=True)
class EventsCopy:
    """The copying from one engine to another.

    Attributes:
        block_rows: How many rows are copied at once, about.
    """

    source: Client
    target: Client
    block_rows: int = BLOCK_ROWS

    def copy_missing(self, advance: Advance) -> Doubts:
        """Copy what the target lacks, while the source may still change.

        Args:
            advance: Called with numbers of copied rows.

        Returns:
            What was copied and is not the same, since the source has changed meanwhile.
        """
        doubts = {}
        for copied in COPIED:
            differing = self._copy_differing(copied, copied.thorough, advance)
            doubts[copied.table] = _differing(*self._both(copied, copied.thorough, differing))
        return doubts

    def make_equal(self, doubts: Doubts, advance: Advance) -> Mapping[str, Digest]:
        """Make all tables of the target hold exactly the rows of the source.

        Rows that were there before are compared by what may change of them.

        Args:
            doubts: What `copy_missing` has returned; it is compared thoroughly.
            advance: Called with numbers of copied rows.

        Returns:
            What each table holds.

        Raises:
            EventsDiffer: A table of the target differs.
        """
        held = {
            copied.table: self._equalize(copied, doubts.get(copied.table, ()), advance)
            for copied in COPIED
        }
        self._copy_uses()
        return held

    def _equalize(self, copied: Copied, doubts: Sequence[Part], advance: Advance) -> Digest:
        copied_parts = self._copy_differing(copied, copied.quick, advance)
        parts = sorted({*copied_parts, *doubts})
        wanted, found = self._both(copied, copied.thorough, parts)
        if differing := _differing(wanted, found):
            self._replace(copied, differing, wanted, advance)
            wanted, found = self._both(copied, copied.thorough, differing)
            if wrong := _differing(wanted, found):
                raise EventsDiffer(_difference(copied, wrong, wanted, found))
        return _sum_of(_digests(self.source, copied, copied.quick))

    def _copy_differing(self, copied: Copied, hashed: str, advance: Advance) -> Sequence[Part]:
        """Insert the rows of parts that differ, and return these parts."""
        if copied.is_versioned:
            self._copy_newer(copied, advance)
        wanted = _digests(self.source, copied, hashed)
        differing = _differing(wanted, _digests(self.target, copied, hashed))
        self._copy_parts(copied, differing, wanted, advance)
        return differing

    def _both(self, copied: Copied, hashed: str, parts: Sequence[Part]) -> tuple[Digests, Digests]:
        """Return the digests of some parts in the source and in the target."""
        return (
            _digests(self.source, copied, hashed, parts),
            _digests(self.target, copied, hashed, parts),
        )

    def _copy_newer(self, copied: Copied, advance: Advance) -> None:
        """Copy the rows above the versions that the target has."""
        [(newest,)] = self.target.query(f"SELECT max(version) FROM {copied.table}").result_rows
        above = f"version > {max(0, int(newest) - VERSIONS_OVERLAP)}"
        counted = f"SELECT count() FROM {copied.table} WHERE {above}"
        [(rows,)] = self.source.query(counted).result_rows
        self._copy_rows(copied, above, rows, advance)

    def _copy_parts(
        self, copied: Copied, parts: Sequence[Part], wanted: Digests, advance: Advance
    ) -> None:
        for some in self._portions([part for part in parts if part in wanted], wanted):
            rows = sum(wanted[part].rows for part in some)
            where = copied.among(some)
            if copied is EVENTS and rows > self.block_rows:
                where, rows = self._narrowed(copied, where)
            self._copy_rows(copied, where, rows, advance)

    def _narrowed(self, copied: Copied, where: str) -> tuple[str, int]:
        """Leave out the minutes of acceptance in which nothing differs."""
        statement = _DIGESTS.format(
            part=_SLOT, hashed=copied.thorough, table=copied.table, where=where
        )
        wanted = _read_digests(self.source, statement)
        slots = _differing(wanted, _read_digests(self.target, statement))
        listed = ", ".join(sorted({f"'{slot}'" for _, slot in slots})) or "''"
        rows = sum(wanted[slot].rows for slot in slots if slot in wanted)
        return f"{where} AND toString({_SLOT}) IN ({listed})", rows

    def _copy_rows(self, copied: Copied, where: str, rows: int, advance: Advance) -> None:
        blocks = -(-rows // self.block_rows)
        # A row that replaces nothing yet may be left out of what is read, where versions decide.
        statement = _BLOCK.format(
            columns=", ".join(f"{read} AS {name}" for name, read in copied.columns.items()),
            table=copied.table,
            final="" if copied.is_versioned else "FINAL",
            where=where,
            key=copied.key,
        )
        for block in range(blocks):
            data = self.source.raw_query(
                statement, {"blocks": blocks, "block": block}, _READ_SETTINGS, fmt="Native"
            )
            if data:
                # A block that was inserted before and deleted since would be left out without it.
                settings = {**_INSERT_SETTINGS, "insert_deduplication_token": uuid4().hex}
                self.target.raw_insert(
                    copied.table, list(copied.columns), data, settings, fmt="Native"
                )
            advance(-(-rows // blocks))

    def _replace(
        self, copied: Copied, parts: Sequence[Part], wanted: Digests, advance: Advance
    ) -> None:
        altered = {
            table.name.removesuffix("_local"): table.altered for table in event_tables(self.target)
        }
        for some in self._portions(parts, wanted):
            statement = _DELETE.format(
                altered=altered.get(copied.table, copied.table), where=copied.among(some)
            )
            self.target.command(statement, settings={"mutations_sync": 2})
            rows = sum(wanted[part].rows for part in some if part in wanted)
            self._copy_rows(copied, copied.among(some), rows, advance)

    def _portions(self, parts: Sequence[Part], wanted: Digests) -> Iterator[list[Part]]:
        """Yield neighbouring parts that one block holds together; a larger part by itself."""
        portion: list[Part] = []
        rows = 0
        for part in parts:
            more = wanted[part].rows if part in wanted else 0
            if portion and (rows + more > self.block_rows or len(portion) >= PARTS_MAX):
                yield portion
                portion, rows = [], 0
            portion.append(part)
            rows += more
        if portion:
            yield portion

    def _copy_uses(self) -> None:
        """Copy how often properties were used, which is little and adds up."""
        if table_exists(self.source, "property_uses"):
            data = self.source.raw_query(_USES, fmt="Native")
            self.target.command("TRUNCATE TABLE property_uses")
            if data:
                columns = ["day", "project_id", "property", "uses"]
                self.target.raw_insert("property_uses", columns, data, fmt="Native")


def _digests(
    client: Client, copied: Copied, hashed: str, parts: Sequence[Part] | None = None
) -> Digests:
    """Return the digests of some parts, or of all."""
    wheres = ("1",) if parts is None else (copied.among(some) for some in _lists(parts))
    digests: dict[Part, Digest] = {}
    for where in wheres:
        statement = _DIGESTS.format(
            part=copied.part, hashed=hashed, table=copied.table, where=where
        )
        digests.update(_read_digests(client, statement))
    return digests


def _read_digests(client: Client, statement: str) -> dict[Part, Digest]:
    rows = client.query(statement, settings=_READ_SETTINGS).result_rows
    return {(project, part): Digest(count, digest) for project, part, count, digest in rows}


def _differing(wanted: Digests, found: Digests) -> list[Part]:
    return sorted(part for part in {*wanted, *found} if wanted.get(part) != found.get(part))


def _lists(parts: Sequence[Part]) -> Iterator[Sequence[Part]]:
    return (parts[start : start + PARTS_MAX] for start in range(0, len(parts), PARTS_MAX))


def _sum_of(digests: Digests) -> Digest:
    return Digest(
        sum(digest.rows for digest in digests.values()),
        sum(digest.digest for digest in digests.values()) % 2**64,
    )


def _difference(copied: Copied, wrong: Sequence[Part], wanted: Digests, found: Digests) -> str:
    project, part = wrong[0]
    none: Any = Digest(0, 0)
    return (
        f"{copied.table} differs in {len(wrong)} parts: project {project}, {part}, has "
        f"{wanted.get(wrong[0], none)} in the source, and {found.get(wrong[0], none)} in the target"
    )
