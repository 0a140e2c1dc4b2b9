"""The statements for a ClickHouse cluster, which no engine of the tests can run, as text.

Sources: the pages of ClickHouse's documentation on data replication, the Distributed table engine
and distributed DDL.
"""

import re

import pytest

from fanion.events.storage.cluster_schema import SCHEMA, ClusterSchema
from fanion.events.storage.schema import (
    EVENT_TABLES,
    SCHEMA_COMPATIBILITY,
    SCHEMA_VERSIONS,
)
from tests.support.clickhouse.alone import alone

CLUSTER = ClusterSchema("main", "fanion")
EVERY = (SCHEMA_VERSIONS, SCHEMA_COMPATIBILITY, *SCHEMA)


def cluster_statements() -> dict[str, str]:
    """Return the statements that make tables, by the names of these."""
    made = [text for statement in EVERY for text in CLUSTER.statements(statement)]
    found = (re.search(r"IF NOT EXISTS `fanion`\.`(\w+)` ON CLUSTER `main`", text) for text in made)
    return {match[1]: match.string for match in found if match}


def flat(text: str) -> str:
    return " ".join(text.split())


def test_every_statement_runs_on_every_host_and_names_its_database() -> None:
    """Only a table that all servers replicate is changed on one of them."""
    for statement in EVERY:
        for text in CLUSTER.statements(statement):
            if text.lstrip().startswith("ALTER "):
                assert "ALTER TABLE `fanion`.`session_rows` ADD COLUMN IF NOT EXISTS" in flat(text)
                assert "ON CLUSTER" not in text
            else:
                assert text.count("ON CLUSTER `main`") == 1
                assert "IF NOT EXISTS `fanion`." in text


def test_no_table_is_left_out() -> None:
    versions = {"schema_version", "schema_compatibility"}
    assert cluster_statements().keys() == {*CLUSTER.tables, *versions}


@pytest.mark.parametrize("name", EVENT_TABLES)
def test_rows_of_events_are_replicated_in_their_shard(name: str) -> None:
    text = flat(cluster_statements()[f"{name}_local"])

    path = f"/clickhouse/tables/{{shard}}/fanion/{name}_local"
    assert f"ENGINE = ReplicatedReplacingMergeTree('{path}', '{{replica}}')" in text
    assert "PARTITION BY greatest(toYYYYMM(timestamp), 201001)" in text
    assert "replicated_deduplication_window = 10000" in text
    assert "replicated_deduplication_window_seconds = 604800" in text
    assert "non_replicated" not in text


@pytest.mark.parametrize("name", EVENT_TABLES)
def test_events_are_read_from_all_shards(name: str) -> None:
    text = flat(cluster_statements()[name])

    assert text == (
        f"CREATE TABLE IF NOT EXISTS `fanion`.`{name}` ON CLUSTER `main` AS "
        f"`fanion`.`{name}_local` ENGINE = Distributed('main', 'fanion', '{name}_local', "
        "sipHash64(project_id, distinct_id))"
    )


def test_each_shard_copies_its_own_events() -> None:
    text = flat(cluster_statements()["copy_by_distinct_id"])

    assert "TO `fanion`.`events_by_distinct_id_local` AS SELECT project_id, uuid," in text
    assert text.endswith("FROM `fanion`.`events_local`")


@pytest.mark.parametrize(
    ("name", "kind", "arguments"),
    [
        ("persons", "ReplacingMergeTree", ", version, is_deleted"),
        ("person_overrides", "ReplacingMergeTree", ", version"),
        ("cohort_inputs", "MergeTree", ""),
        ("property_uses", "SummingMergeTree", ""),
        ("schema_version", "MergeTree", ""),
    ],
)
def test_other_tables_are_whole_on_every_host(name: str, kind: str, arguments: str) -> None:
    text = flat(cluster_statements()[name])

    where = f"'/clickhouse/tables/all/fanion/{name}', '{{shard}}-{{replica}}'"
    assert f"ENGINE = Replicated{kind}({where}{arguments})" in text
    # Equal rows that are inserted twice would otherwise be taken for a repetition.
    assert re.search(r"SETTINGS replicated_deduplication_window = 0\b", text)


def test_every_table_with_rows_is_replicated() -> None:
    for name, text in cluster_statements().items():
        is_of_rows = name not in (*EVENT_TABLES, "copy_by_distinct_id")
        assert ("ENGINE = Replicated" in text) == is_of_rows


def test_the_database_is_made_on_every_host() -> None:
    assert CLUSTER.create_database == "CREATE DATABASE IF NOT EXISTS `fanion` ON CLUSTER `main`"


def test_a_column_of_events_is_added_to_the_rows_and_to_what_reads_them() -> None:
    changes = CLUSTER.statements("ALTER TABLE events ADD COLUMN IF NOT EXISTS x UInt8")

    assert [flat(change) for change in changes] == [
        "ALTER TABLE `fanion`.`events_local` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS x UInt8",
        "ALTER TABLE `fanion`.`events` ON CLUSTER `main` ADD COLUMN IF NOT EXISTS x UInt8",
    ]


def test_a_setting_of_events_is_of_the_rows_alone() -> None:
    [change] = CLUSTER.statements("ALTER TABLE events MODIFY SETTING merge_selector_base = 8")

    assert "`events_local` ON CLUSTER `main` MODIFY SETTING" in change


def test_a_table_that_every_host_replicates_is_changed_on_one() -> None:
    [change] = CLUSTER.statements("ALTER TABLE persons ADD COLUMN IF NOT EXISTS x UInt8")

    assert flat(change) == "ALTER TABLE `fanion`.`persons` ADD COLUMN IF NOT EXISTS x UInt8"


def test_a_statement_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="not known on a cluster: DROP TABLE events"):
        CLUSTER.statements("DROP TABLE events")


def test_names_are_quoted() -> None:
    odd = ClusterSchema("a`b'c", "d`e")

    assert odd.on_cluster == "ON CLUSTER `a\\`b\\'c`"
    [local, distributed] = odd.statements(SCHEMA[0])
    assert "`d\\`e`.`events_local`" in local
    assert "Distributed('a`b\\'c', 'd`e', 'events_local'" in distributed


def test_the_stand_in_leaves_out_only_what_needs_keeper() -> None:
    made = cluster_statements()["persons"]

    assert flat(alone(made)) == flat(
        made.replace(" ON CLUSTER `main`", "")
        .replace("Replicated", "")
        .replace("'/clickhouse/tables/all/fanion/persons', '{shard}-{replica}', ", "")
        .replace("replicated_dedup", "non_replicated_dedup")
    )
    assert alone("SELECT 'x ON CLUSTER `y`'") == "SELECT 'x ON CLUSTER `y`'"
