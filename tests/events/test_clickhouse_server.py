"""The stand-in for a ClickHouse server, as seen by `clickhouse-connect` and by plain HTTP."""

import os
import threading
from collections.abc import Iterator
from uuid import UUID, uuid4

import httpx
import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from tests.support.clickhouse.message import COMPRESS, Insert, Message, read_message
from tests.support.clickhouse.server import DISTRIBUTED, SERVER, ClickHouse

ODD = "a'b\\\"\n\t☃ {x:String} ?"


@pytest.fixture
def client(clickhouse_server: ClickHouse) -> Iterator[Client]:
    opened = clickhouse_server.client(SERVER)
    yield opened
    opened.close()


@pytest.fixture
def table(client: Client) -> Iterator[str]:
    name = f"t_{uuid4().hex}"
    client.command(f"CREATE TABLE {name} (id UInt64, text String) ENGINE = MergeTree ORDER BY id")
    yield name
    client.command(f"DROP TABLE {name}")


@pytest.mark.parametrize("is_form", [True, False])
def test_values_are_bound_from_the_address_and_from_a_form(
    clickhouse_server: ClickHouse, is_form: bool
) -> None:
    client = clickhouse_server.client(SERVER, form_encode_query_params=is_form)
    values = {"text": ODD, "ids": [UUID(int=1)], "numbers": [1, 2], "flag": True, "none": None}

    result = client.query(
        "SELECT {text:String}, {ids:Array(UUID)}, {numbers:Array(UInt8)}, {flag:Bool},"
        " {none:Nullable(String)}",
        values,
    )
    client.close()

    assert result.result_rows == [(ODD, [UUID(int=1)], [1, 2], True, None)]


# Encodings that clickhouse-connect can send; it also accepts deflate.
@pytest.mark.parametrize("encoding", ["lz4", "zstd", "br", "gzip", False])
def test_bodies_are_compressed_both_ways(
    clickhouse_server: ClickHouse, table: str, encoding: str | bool
) -> None:
    client = clickhouse_server.client(SERVER, compress=encoding)
    rows = [(number, ODD * 10) for number in range(1000)]

    client.insert(table, rows, column_names=["id", "text"])
    lines = "".join(f"{number}\tx\n" for number in range(1000, 1100)).encode()
    body = COMPRESS[str(encoding)](lines) if encoding else lines
    client.raw_insert(
        table, ["id", "text"], body, fmt="TabSeparated", compression=str(encoding or "") or None
    )

    stored = client.query(f"SELECT id, text FROM {table} ORDER BY id").result_rows
    client.close()
    assert stored == rows + [(number, "x") for number in range(1000, 1100)]


def test_an_answer_is_compressed_only_when_that_is_asked_for(
    clickhouse_server: ClickHouse,
) -> None:
    address = f"http://127.0.0.1:{clickhouse_server.port}/?query=SELECT+1"

    plain = httpx.get(address, headers={"Accept-Encoding": "gzip"})
    packed = httpx.get(f"{address}&enable_http_compression=1", headers={"Accept-Encoding": "gzip"})

    assert (plain.text, plain.headers.get("Content-Encoding")) == ("1\n", None)
    assert (packed.text, packed.headers.get("Content-Encoding")) == ("1\n", "gzip")


def test_a_statement_may_be_followed_by_its_data(client: Client, table: str) -> None:
    client.raw_insert(table, ["id", "text"], b'{"id":1,"text":"\\n"}\n', fmt="JSONEachRow")
    client.command(f"INSERT INTO {table} (id, text) VALUES (2, ' FORMAT TSV\n3\tc')")
    client.command(f"INSERT INTO {table} SELECT 3, {{text:String}}", {"text": ODD})

    stored = client.query(f"SELECT id, text FROM {table} ORDER BY id").result_rows
    assert stored == [(1, "\n"), (2, " FORMAT TSV\n3\tc"), (3, ODD)]


def test_settings_hold_for_one_request(client: Client) -> None:
    read = "SELECT getSetting('max_threads'), getSetting('session_timezone')"
    [plain] = client.query(read).result_rows

    [given] = client.query(read, settings={"max_threads": 7}).result_rows
    client.set_client_setting("session_timezone", "Asia/Kathmandu")
    [kept] = client.query(read).result_rows

    assert given == (7, plain[1])
    assert kept == (plain[0], "Asia/Kathmandu")


def test_requests_for_other_databases_see_other_tables(
    clickhouse_server: ClickHouse, client: Client, table: str
) -> None:
    other = clickhouse_server.client(DISTRIBUTED)

    with pytest.raises(DatabaseError):
        other.query(f"SELECT count() FROM {table}")
    assert client.query(f"SELECT count() FROM {table}").result_rows == [(0,)]
    other.close()


@pytest.mark.parametrize(
    ("statement", "code", "name"),
    [
        ("SELECT * FROM nowhere", 60, "UNKNOWN_TABLE"),
        ("SELEKT 1", 62, "SYNTAX_ERROR"),
        ("SELECT throwIf(1)", 395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
        ("SELECT toUInt8({x:UInt8})", 456, "UNKNOWN_QUERY_PARAMETER"),
    ],
)
def test_an_exception_keeps_its_code_and_its_name(
    client: Client, statement: str, code: int, name: str
) -> None:
    with pytest.raises(DatabaseError) as raised:
        client.query(statement)

    assert (raised.value.code, raised.value.name) == (code, name)
    assert client.query("SELECT 1").result_rows == [(1,)]


def test_an_unknown_database_or_setting_is_an_exception(clickhouse_server: ClickHouse) -> None:
    address = f"http://127.0.0.1:{clickhouse_server.port}/"

    for given, code in (({"database": "nowhere"}, "81"), ({"no_such_setting": "1"}, "115")):
        answer = httpx.get(address, params={"query": "SELECT 1", **given})
        assert (answer.status_code, answer.headers["X-ClickHouse-Exception-Code"]) == (404, code)


def test_the_id_of_a_query_is_answered(clickhouse_server: ClickHouse) -> None:
    address = f"http://127.0.0.1:{clickhouse_server.port}/"

    named = httpx.post(address, params={"query_id": "mine"}, content="SELECT 1 FORMAT CSV")
    unnamed = httpx.post(address, content="SELECT 1")

    assert named.headers["X-ClickHouse-Query-Id"] == "mine"
    assert named.headers["X-ClickHouse-Format"] == "CSV"
    assert UUID(unnamed.headers["X-ClickHouse-Query-Id"])


def test_statements_run_side_by_side_and_can_be_killed(clickhouse_server: ClickHouse) -> None:
    slow, other = clickhouse_server.client(SERVER), clickhouse_server.client(SERVER)
    failures: list[Exception] = []

    def run() -> None:
        try:
            slow.query("SELECT /* slow one */ sum(cityHash64(number)) FROM numbers(1000000000000)")
        except DatabaseError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        other.command(
            "KILL QUERY WHERE query_kind = 'Select' AND position(query, 'slow one') > 0 ASYNC"
        )
    thread.join()

    assert [getattr(failure, "code", None) for failure in failures] == [394]
    for client in (slow, other):
        client.close()


def test_it_is_a_process_of_its_own(clickhouse_server: ClickHouse) -> None:
    assert clickhouse_server.pid != os.getpid()
    assert httpx.get(f"http://127.0.0.1:{clickhouse_server.port}/ping").text == "Ok.\n"


def test_two_shards_answer_for_the_rows_that_are_theirs(clickhouse_server: ClickHouse) -> None:
    client = clickhouse_server.client(DISTRIBUTED)
    client.command("CREATE TABLE part_local (distinct_id UInt64) ENGINE = MergeTree ORDER BY ()")
    client.command(
        "CREATE TABLE part AS part_local ENGINE = Distributed(shards, distributed, part_local)"
    )
    filters = "{'distributed.part_local': 'shardNum() IN (0, cityHash64(distinct_id) % 2 + 1)'}"
    settings = {"additional_table_filters": filters}
    client.insert("part_local", [[number] for number in range(100)], column_names=["distinct_id"])

    rows_by_shard = client.query(
        "SELECT shardNum() AS shard, count() FROM part GROUP BY shard ORDER BY shard",
        settings=settings,
    ).result_rows
    with pytest.raises(DatabaseError) as raised:
        client.query("SELECT 1 FROM part WHERE distinct_id IN (SELECT distinct_id FROM part)")

    assert [shard for shard, _ in rows_by_shard] == [1, 2]
    assert (
        sum(rows for _, rows in rows_by_shard) == 100
        and min(rows for _, rows in rows_by_shard) > 20
    )
    assert raised.value.name == "DISTRIBUTED_IN_JOIN_SUBQUERY_DENIED"
    client.command("DROP TABLE part")
    client.command("DROP TABLE part_local")
    client.close()


INSERT_OF_TEXT = Insert("insert into `a b` (`x`)", "TSV", b"1\n")


def message(text: bytes) -> Message:
    return read_message("/", {}, text)


@pytest.mark.parametrize(
    ("text", "insert"),
    [
        (b"INSERT INTO t FORMAT Native\n\n\x00", Insert("INSERT INTO t", "Native", b"\n\x00")),
        (b"insert into `a b` (`x`) format TSV\r\n1\n", INSERT_OF_TEXT),
        (b"INSERT INTO t (a) FORMAT CSV", Insert("INSERT INTO t (a)", "CSV", b"")),
        (b"INSERT INTO t VALUES ('\n FORMAT CSV\n')", None),
        (b"SELECT 1 FORMAT Native\n", None),
    ],
)  # fmt: skip
def test_data_are_told_from_the_statement(text: bytes, insert: Insert | None) -> None:
    assert message(text).insert == insert
