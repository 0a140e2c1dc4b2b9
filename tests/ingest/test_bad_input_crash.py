"""Whatever bad input the real server gets, the next request works and no good event is lost."""

import gzip
import http.client
import json
import time
import zlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support import plain_http
from tests.support.application import error
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts real servers")

BODY_BYTES_MAX = 20 * 1024**2 - 1
MEMORY_BYTES_MAX = 1_500_000_000
VISIBLE_S = 60

TOO_LARGE = error(
    "invalid_request",
    "payload_too_large",
    f"The request body is larger than {BODY_BYTES_MAX} bytes.",
)


class ServerConnection:
    """One connection to the server, used for every request."""

    def __init__(self, server: RealServer, keys: Keys) -> None:
        self.server = server
        self.keys = keys
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self._connection.connect()
        self._socket = self._connection.sock
        self._good = count(1)
        self.good_events = self.many_events = 0

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
        self._connection.request("POST", path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text)

    def post_good(self) -> None:
        """Send a normal request, on the connection of the previous one."""
        self.good_events += 1
        body = {
            "api_key": self.keys.project_api_key,
            "event": "good",
            "distinct_id": f"user {next(self._good)}",
        }
        assert self.post("/capture/", json.dumps(body).encode()) == (200, {"status": 1})
        assert self._connection.sock is self._socket

    def get(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        self._connection.request("GET", f"/api/projects/@current{path}", headers=headers)
        answer = self._connection.getresponse()
        body = json.loads(answer.read())
        assert answer.status == 200, body
        return body

    def form(self, method: str, path: str, pieces: Iterator[bytes] | None) -> int:
        """Return the status of the answer to a form without a declared length and boundary."""
        headers = {
            "authorization": f"Bearer {self.keys.personal_api_key}",
            "content-type": "multipart/form-data",
        }
        if pieces is not None:
            headers["transfer-encoding"] = "chunked"
        self._connection.request(method, path, pieces, headers, encode_chunked=pieces is not None)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def server_connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerConnection]:
    server = PreloadedServer(Path(tmp_path_factory.mktemp("bad-input")) / "data")
    server_connection = None
    try:
        keys = server.setup()
        server.start()
        server_connection = ServerConnection(server, keys)
        yield server_connection
    finally:
        if server_connection is not None:
            server_connection.close()
        server.close()


def item(key: str, **changes: Any) -> bytes:
    body = {"api_key": key, "event": "odd", "distinct_id": "odd"}
    return json.dumps(body | changes).encode()


KEY = "PROJECT_KEY"

# 200 for JSON that names a project: odd values are stored or dropped, never refused.
BAD: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 400),
    "blanks": (b"   ", 400),
    "not JSON": (b"event=a", 400),
    "half of it": (item(KEY)[:-5], 400),
    "null": (b"null", 400),
    "a number": (b"5", 400),
    "a text": (b'"x"', 400),
    "a list of lists": (b"[[]]", 401),
    "a number as key": (item(KEY, api_key=5), 401),
    "an object as key": (item(KEY, api_key={"a": 1}), 401),
    "a batch that is an object": (item(KEY, batch={"a": 1}), 400),
    "a batch of texts": (item(KEY, batch=["a"]), 400),
    "properties that are a text": (item(KEY, properties="x"), 400),
    "an object as event": (item(KEY, event={"a": [1]}), 200),
    "an object as distinct id": (item(KEY, distinct_id={"a": 1}), 200),
    "a number as distinct id": (item(KEY, distinct_id=23.4), 200),
    "a timestamp that is none": (item(KEY, timestamp={"a": 1}), 200),
    "a year of 99999": (item(KEY, timestamp="99999-01-01T00:00:00Z"), 200),
    "a number beyond all clocks": (item(KEY, timestamp=10**30), 200),
    "an offset beyond all clocks": (item(KEY, offset=10**30), 200),
    "a set that is none": (item(KEY, **{"$set": "x", "$set_once": [1]}), 200),
    "groups that are none": (item(KEY, properties={"$groups": [1, {}]}), 200),
    "NUL in names and ids": (
        item(
            KEY,
            event="a\0b",
            distinct_id="c\0d",
            properties={"e\0f": "g\0h", "$set": {"i\0j": "k\0l"}, "$groups": {"m\0": "n\0"}},
        ),
        200,
    ),
    "a lone surrogate": (
        b'{"api_key": "PROJECT_KEY", "event": "a\\ud800b", "distinct_id": "\\udfff", '
        b'"properties": {"\\ud83d": "\\ude00\\ud83d", "$set": {"x": "\\ud800"}}}',
        200,
    ),
    "NaN and infinities": (
        b'{"api_key": "PROJECT_KEY", "event": "odd", "distinct_id": "odd", '
        b'"properties": {"a": NaN, "b": -Infinity, "c": 1e999}}',
        200,
    ),
    "a number of 10,000 digits": (
        b'{"api_key": "PROJECT_KEY", "event": "odd", "distinct_id": "odd", "properties": {"a": '
        + b"9" * 10_000
        + b"}}",
        200,
    ),
    "a huge property": (item(KEY, properties={"a": "x" * 15_000_000}), 200),
    "a huge name": (item(KEY, event="e" * 1_000_000, distinct_id="d" * 1_000_000), 200),
    "20,000 properties": (item(KEY, properties={f"p{n}": n for n in range(20_000)}), 200),
    "bytes that are no UTF-8": (
        b'{"api_key": "PROJECT_KEY", "event": "\xff\xfe", "distinct_id": "u"}',
        400,
    ),
    "bytes that are no UTF-8 in a property": (
        b'{"api_key": "PROJECT_KEY", "event": "a", "distinct_id": "u", '
        b'"properties": {"a": "\xc3\x28"}}',
        400,
    ),
    "arrays 100,000 deep": (b"[" * 100_000, 400),
    "closed arrays 100,000 deep": (
        b'{"api_key": "PROJECT_KEY", "event": "odd", "distinct_id": "u", "properties": {"a": '
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}}",
        400,
    ),
    "objects 100,000 deep": (
        b'{"api_key": "PROJECT_KEY", "event": "odd", "distinct_id": "u", "properties": '
        + b'{"a":' * 100_000
        + b"1"
        + b"}" * 100_001,
        400,
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_capture_answers_in_its_shape_and_the_next_request_works(
    server_connection: ServerConnection, name: str
) -> None:
    body, expected = BAD[name]

    status, answer = server_connection.post(
        "/batch/", body.replace(KEY.encode(), server_connection.keys.project_api_key.encode())
    )

    server_connection.post_good()
    assert status == expected, answer
    assert answer == {"status": 1} if status == 200 else set(answer) == set(TOO_LARGE)


DECIDE_BAD: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 400),
    "not JSON": (b"\xff", 400),
    "a list": (b"[]", 400),
    "arrays 100,000 deep": (b"[" * 100_000, 400),
    "deep properties": (
        b'{"api_key": "PROJECT_KEY", "distinct_id": "u", "person_properties": '
        + b'{"a":' * 100_000
        + b"1"
        + b"}" * 100_001,
        400,
    ),
    "NUL in ids": (item(KEY, distinct_id="a\0b", groups={"c\0": "d\0"}), 200),
    "a lone surrogate": (b'{"api_key": "PROJECT_KEY", "distinct_id": "\\ud800"}', 200),
    "a huge distinct id": (item(KEY, distinct_id="d" * 5_000_000), 200),
    "an object as distinct id": (item(KEY, distinct_id={"a": 1}), 200),
    "groups that are a text": (item(KEY, groups="x"), 400),
    "a group without a key": (item(KEY, groups={"a": None, "b": [1]}), 200),
}


@pytest.mark.parametrize("name", DECIDE_BAD)
def test_decide_answers_in_its_shape_and_the_next_request_works(
    server_connection: ServerConnection, name: str
) -> None:
    body, expected = DECIDE_BAD[name]

    status, answer = server_connection.post(
        "/decide?v=3", body.replace(KEY.encode(), server_connection.keys.project_api_key.encode())
    )

    server_connection.post_good()
    assert status == expected, answer
    assert "featureFlags" in answer if status == 200 else set(answer) == set(TOO_LARGE)


@pytest.mark.parametrize("path", ["/capture/", "/batch/", "/decide?v=3"])
def test_a_body_of_25_mb_is_too_large_and_its_connection_lives_on(
    server_connection: ServerConnection, path: str
) -> None:
    body = item(server_connection.keys.project_api_key, properties={"a": "x" * 25_000_000})

    answer = server_connection.post(path, body)

    server_connection.post_good()
    assert answer == (413, TOO_LARGE)


def test_a_body_of_25_mb_without_a_known_caller_is_not_read(
    server_connection: ServerConnection,
) -> None:
    body = item(server_connection.keys.project_api_key, properties={"a": "x" * 25_000_000})

    status, answer = server_connection.post("/api/projects/", body)

    server_connection.post_good()
    assert (status, answer["code"]) == (401, "not_authenticated")


def gzip_bomb() -> bytes:
    """Return a gigabyte of zeros in a megabyte: one piece a hundred times, without an end."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    first = deflate.compress(bytes(10_000_000)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return first + 99 * (deflate.compress(bytes(10_000_000)) + deflate.flush(zlib.Z_FULL_FLUSH))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("path", ["/batch/", "/decide?v=3"])
def test_what_unfolds_to_gigabytes_is_too_large(
    server_connection: ServerConnection, path: str, layers: int
) -> None:
    bomb = gzip_bomb()
    for _ in range(layers - 1):
        bomb = gzip.compress(bomb, 9)

    status, answer = server_connection.post(path, bomb, **{"content-encoding": "gzip"})

    server_connection.post_good()
    assert (status, answer) == (413, TOO_LARGE)


def test_a_form_that_is_not_read_does_no_harm(server_connection: ServerConnection) -> None:
    path = "/api/projects/@current/cohorts/"

    assert server_connection.form("GET", path, None) == 200
    assert server_connection.form("POST", path, iter([b"--x\r\n" * 100_000] * 3)) == 400
    server_connection.post_good()


def test_a_batch_of_50_000_items_is_stored_whole(server_connection: ServerConnection) -> None:
    items = [{"event": "many", "distinct_id": f"many {n % 1000}"} for n in range(50_000)]
    body = json.dumps({"api_key": server_connection.keys.project_api_key, "batch": items}).encode()

    answer = server_connection.post("/batch/", body)

    server_connection.post_good()
    server_connection.many_events += len(items)
    assert answer == (200, {"status": 1})


def test_afterwards_the_server_lives_its_memory_is_bounded_and_all_is_there(
    server_connection: ServerConnection,
) -> None:
    give_up = time.monotonic() + VISIBLE_S
    while lag(server_connection) and time.monotonic() < give_up:
        time.sleep(0.05)
    good = server_connection.get("/events/?event=good&limit=10000")["results"]
    many = server_connection.get("/events/?event=many&limit=10000")["results"]

    process = server_connection.server.process
    assert process is not None
    assert process.poll() is None
    assert sorted(event["distinct_id"] for event in good) == sorted(
        f"user {n}" for n in range(1, server_connection.good_events + 1)
    )
    assert len(many) == min(server_connection.many_events, 10_000)
    assert (
        metric(server_connection, "fanion_events_ingested_total")
        >= server_connection.good_events + server_connection.many_events
    )
    assert metric(server_connection, "fanion_dead_letters_total") == 0
    assert peak_bytes(process.pid) < MEMORY_BYTES_MAX
    assert "request_failed" not in server_connection.server.log_path.read_text()
    assert "envelope_failed" not in server_connection.server.log_path.read_text()


def lag(server_connection: ServerConnection) -> float:
    return metric(server_connection, "fanion_log_lag_envelopes")


def metric(server_connection: ServerConnection, name: str) -> float:
    text = plain_http.get(f"{server_connection.server.url}/metrics").text
    [sample] = [row for row in text.splitlines() if row.startswith(f"{name} ")]
    return float(sample.rpartition(" ")[2])


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    [peak] = [row for row in status.splitlines() if row.startswith("VmHWM:")]
    return int(peak.split()[1]) * 1024
