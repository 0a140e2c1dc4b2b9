"""The requirements of RFC 9110 (sections 5 to 10) and RFC 9112 (sections 2 to 9) on a real server.

They are tested on paths that the server itself answers, on those that another process answers, and
on the management API, each with a head that was never seen and with a known one.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.support.awaited import until
from tests.support.http_probe import Answer, Probe
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys

_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Way:
    """A path with GET and one with POST, and the statuses of a good request to each."""

    get_path: str
    get_status: int
    post_path: str
    post_status: int
    body: bytes
    fields: str = ""


@dataclass(frozen=True)
class ConformanceServer:
    port: int
    ways: dict[str, Way]


ANY = 0  # stands for any status
WAYS = ("server", "process", "management")


@pytest.fixture(scope="module")
def target_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConformanceServer]:
    server = PreloadedServer(tmp_path_factory.mktemp("http") / "data", {"FANION_PROCESSES": "2"})
    keys = server.setup()
    server.start()
    try:
        started = ConformanceServer(server.port, ways(keys))
        until(
            lambda: _process(started, "process") != _process(started, "server"), "no other process"
        )
        yield started
    finally:
        server.close()


def ways(keys: Keys) -> dict[str, Way]:
    event = {"api_key": keys.project_api_key, "event": "seen", "distinct_id": "ann"}
    flags = "/api/projects/@current/feature_flags/"
    key = f"Authorization: Bearer {keys.personal_api_key}\r\nContent-Type: application/json\r\n"
    return {
        "server": Way("/_health", 200, "/_health", 405, b"{}"),
        "process": Way("/capture/", 405, "/capture/", 200, json.dumps(event).encode()),
        "management": Way(flags, 200, flags, 400, b"{}", key),
    }


def _process(target_server: ConformanceServer, name: str) -> str:
    with Probe(target_server.port) as probe:
        probe.send(post(target_server.ways[name]))
        answer = probe.answer()
    assert answer is not None
    return answer.headers["x-request-id"].partition("-")[0]


# ── Requests ─────────────────────────────────────────────────────────────────────────────


def get(way: Way, fields: str = "", *, line: str | None = None, host: str = "Host: a\r\n") -> bytes:
    """Return a GET request.

    Args:
        line: Replaces the usual first line.
    """
    first = line or f"GET {way.get_path} HTTP/1.1"
    return f"{first}\r\n{host}{way.fields}{fields}\r\n".encode("latin-1")


def post(way: Way, fields: str | None = None, body: bytes | None = None) -> bytes:
    """Return a POST request.

    Args:
        fields: Headers besides Host, which frame the body.
    """
    sent = way.body if body is None else body
    framing = f"Content-Length: {len(sent)}\r\n" if fields is None else fields
    return get(way, framing, line=f"POST {way.post_path} HTTP/1.1") + sent


def chunked(way: Way, body: bytes, fields: str = "") -> bytes:
    return post(way, f"Transfer-Encoding: chunked\r\n{fields}", body)


def in_chunks(way: Way, size: str = "{:x}", extension: str = "") -> bytes:
    data = way.body
    whole = b"".join(
        f"{size.format(len(part))}{extension}\r\n".encode() + part + b"\r\n"
        for part in (data[:1], data[1:])
    )
    return whole + b"0\r\n"


# ── What is required ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Case:
    """A requirement.

    Attributes:
        sent: What a client sends, on each way.
        answers: The statuses of all answers to it; names stand for those of the way.
        ends: Whether the server closes the connection after them.
    """

    section: str
    rule: str
    sent: Callable[[Way], bytes]
    answers: tuple[int | str, ...]
    ends: bool = False
    method: str = "GET"


def _line(line: str) -> Callable[[Way], bytes]:
    return lambda way: get(way, line=line.replace("PATH", way.get_path))


def _fields(fields: str) -> Callable[[Way], bytes]:
    return lambda way: get(way, fields)


def _host(host: str) -> Callable[[Way], bytes]:
    return lambda way: get(way, host=host)


def _framed(fields: str) -> Callable[[Way], bytes]:
    return lambda way: post(way, fields)


def _chunks(body: bytes) -> Callable[[Way], bytes]:
    return lambda way: chunked(way, body)


def _of_1_0(fields: str, body: Callable[[Way], bytes]) -> Callable[[Way], bytes]:
    def sent(way: Way) -> bytes:
        filled = fields.replace("LENGTH", str(len(body(way))))
        return get(way, filled, line=f"POST {way.post_path} HTTP/1.0") + body(way)

    return sent


CASES = [
    Case(
        "9110 5.4",
        "a field that is too large is refused",
        _fields(f"X-A: {'a' * 70_000}\r\n"),
        (431,),
        True,
    ),
    Case("9110 5.5", "NUL in a value", _fields("X-A: b\0c\r\n"), (400,), True),
    Case("9110 5.5", "CR in a value", _fields("X-A: b\rc\r\n"), (400,), True),
    Case(
        "9110 5.5",
        "blanks around a value are none of it",
        lambda way: post(way, f"Content-Length: \t{len(way.body)} \t\r\n"),
        ("post",),
    ),
    Case(
        "9110 5.6.1",
        "empty elements of a list are passed over",
        _fields("Connection: , close ,\r\n"),
        ("get",),
        True,
    ),
    Case("9110 7.2", "no Host", _host(""), (400,), True),
    Case("9110 7.2", "two Hosts", _host("Host: a\r\nHost: b\r\n"), (400,), True),
    Case("9110 7.2", "the same Host twice", _host("Host: a\r\nHost: a\r\n"), (400,), True),
    Case("9110 7.2", "a Host with a path", _host("Host: a/b\r\n"), (400,), True),
    Case("9110 7.2", "a Host with a blank", _host("Host: a b\r\n"), (400,), True),
    Case("9110 7.2", "a Host with a user", _host("Host: u@a\r\n"), (400,), True),
    Case("9110 7.2", "a Host with a port of letters", _host("Host: a:b\r\n"), (400,), True),
    Case(
        "9110 7.2",
        "a Host with an address that is none",
        _host("Host: [1::2::3]\r\n"),
        (400,),
        True,
    ),
    Case("9110 7.2", "an address as Host", _host("Host: [::1]:8000\r\n"), ("get",)),
    Case(
        "9110 7.6.1",
        "connection options in whichever case",
        _fields("CONNECTION: Close\r\n"),
        ("get",),
        True,
    ),
    Case(
        "9110 7.8",
        "an upgrade that is not known is passed over",
        _fields("Connection: Upgrade\r\nUpgrade: b/1\r\n"),
        ("get",),
    ),
    Case(
        "9110 8.6",
        "two lengths",
        _framed("Content-Length: 2\r\nContent-Length: 3\r\n"),
        (400,),
        True,
    ),
    Case("9110 8.6", "a length with a sign", _framed("Content-Length: +2\r\n"), (400,), True),
    Case("9110 8.6", "a length in a list", _framed("Content-Length: 2, 3\r\n"), (400,), True),
    Case("9110 8.6", "an empty length", _framed("Content-Length:\r\n"), (400,), True),
    Case(
        "9110 8.6",
        "a length beyond all numbers",
        _framed(f"Content-Length: {'9' * 30}\r\n"),
        (400,),
        True,
    ),
    Case("9110 9.1", "a method that is not known", _line("BREW PATH HTTP/1.1"), (501,), True),
    Case("9110 9.1", "methods are case-sensitive", _line("get PATH HTTP/1.1"), (501,), True),
    Case("9110 9.3.6", "no tunnels", _line("CONNECT a:443 HTTP/1.1"), (501,), True),
    Case("9110 9.3.7", "the whole server", _line("OPTIONS * HTTP/1.1"), (200,)),
    Case(
        "9110 10.1.1",
        "an expectation of HTTP/1.0 is none",
        _of_1_0("Expect: 100-continue\r\nContent-Length: LENGTH\r\n", lambda way: way.body),
        ("post",),
        True,
    ),
    Case("9112 2.2", "an empty line before a request", lambda way: b"\r\n" + get(way), ("get",)),
    Case(
        "9112 2.2", "a blank before the first field", _host(" X-A: b\r\nHost: a\r\n"), (400,), True
    ),
    Case("9112 2.2", "CR alone in a first line", _line("GET PATH\r HTTP/1.1"), (400,), True),
    Case("9112 2.3", "a later minor version", _line("GET PATH HTTP/1.2"), ("get",)),
    Case("9112 2.3", "a later major version", _line("GET PATH HTTP/2.0"), (505,), True),
    Case("9112 2.3", "a name in small letters", _line("GET PATH http/1.1"), (400,), True),
    Case("9112 3", "no version", _line("GET PATH"), (400,), True),
    Case("9112 3", "two blanks", _line("GET  PATH HTTP/1.1"), (400,), True),
    Case("9112 3", "a blank in the target", _line("GET PATH?a b HTTP/1.1"), (400,), True),
    Case(
        "9112 3",
        "a target that is too long",
        _line(f"GET PATH?{'a' * 70_000} HTTP/1.1"),
        (414,),
        True,
    ),
    Case("9112 3.2", "a fragment", _line("GET PATH#a HTTP/1.1"), (400,), True),
    Case("9112 3.2", "no leading slash", _line("GET a HTTP/1.1"), (400,), True),
    Case(
        "9112 3.2",
        "no Host with a later minor version",
        lambda way: get(way, line=f"GET {way.get_path} HTTP/1.2", host=""),
        (400,),
        True,
    ),
    Case(
        "9112 3.2",
        "no Host with HTTP/1.0",
        lambda way: get(way, line=f"GET {way.get_path} HTTP/1.0", host=""),
        ("get",),
        True,
    ),
    Case("9112 3.2.2", "an absolute target", _line("GET http://a:80PATH HTTP/1.1"), ("get",)),
    Case(
        "9112 3.2.2",
        "an absolute target goes before another Host",
        _line("GET http://bPATH HTTP/1.1"),
        ("get",),
    ),
    Case(
        "9112 3.2.2",
        "an absolute target without a host",
        _line("GET http://PATH HTTP/1.1".replace("PATH", "/a")),
        (400,),
        True,
    ),
    Case(
        "9112 3.2.2",
        "an absolute target without Host",
        lambda way: get(way, line=f"GET http://a{way.get_path} HTTP/1.1", host=""),
        (400,),
        True,
    ),
    Case("9112 3.2.4", "the whole server is for OPTIONS", _line("GET * HTTP/1.1"), (400,), True),
    Case("9112 5.1", "a blank before a colon", _fields("X-A : b\r\n"), (400,), True),
    Case("9112 5.1", "no name", _fields(": b\r\n"), (400,), True),
    Case("9112 5.2", "a folded field", _fields("X-A: b\r\n c\r\n"), (400,), True),
    Case(
        "9112 6.1",
        "a length and chunks",
        _framed("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"),
        (400,),
        True,
    ),
    Case(
        "9112 6.1",
        "chunks of HTTP/1.0",
        _of_1_0("Transfer-Encoding: chunked\r\n", lambda way: in_chunks(way) + b"\r\n"),
        (400,),
        True,
    ),
    Case(
        "9112 6.1", "another coding", _framed("Transfer-Encoding: gzip, chunked\r\n"), (501,), True
    ),
    Case(
        "9112 6.1",
        "chunked twice",
        _framed("Transfer-Encoding: chunked, chunked\r\n"),
        (400,),
        True,
    ),
    Case(
        "9112 6.3",
        "chunked is not the last",
        _framed("Transfer-Encoding: chunked, gzip\r\n"),
        (400,),
        True,
    ),
    Case("9112 6.3", "not chunked at all", _framed("Transfer-Encoding: gzip\r\n"), (400,), True),
    Case(
        "9112 6.3",
        "neither length nor chunks is no body",
        lambda way: get(way, line=f"POST {way.post_path} HTTP/1.1") + get(way),
        (ANY, "get"),
    ),
    Case("9112 7.1", "chunks", lambda way: chunked(way, in_chunks(way) + b"\r\n"), ("post",)),
    Case(
        "9112 7.1",
        "coding names in whichever case",
        lambda way: post(way, "Transfer-Encoding: Chunked\r\n", in_chunks(way) + b"\r\n"),
        ("post",),
    ),
    Case(
        "9112 7.1",
        "sizes in large letters and with noughts",
        lambda way: chunked(way, in_chunks(way, "000{:X}") + b"\r\n"),
        ("post",),
    ),
    Case("9112 7.1", "a size beyond all numbers", _chunks(b"f" * 17 + b"\r\n"), (400,), True),
    Case("9112 7.1", "a size that is no number", _chunks(b"0x2\r\n{}\r\n0\r\n\r\n"), (400,), True),
    Case("9112 7.1", "a size with a sign", _chunks(b"+2\r\n{}\r\n0\r\n\r\n"), (400,), True),
    Case("9112 7.1", "data longer than its size", _chunks(b"1\r\n{}\r\n0\r\n\r\n"), (400,), True),
    Case(
        "9112 7.1.1",
        "an extension is passed over",
        lambda way: chunked(way, in_chunks(way, extension=';a=b;c="d;\\""') + b"\r\n"),
        ("post",),
    ),
    Case("9112 7.1.1", "extensions are limited", _chunks(b"1;a=" + b"b" * 20_000), (431,), True),
    Case(
        "9112 7.1.2",
        "a trailer is passed over",
        lambda way: chunked(way, in_chunks(way) + b"Authorization: a\r\nX-B: c\r\n\r\n"),
        ("post",),
    ),
    Case(
        "9112 7.1.2",
        "a trailer that is no field",
        lambda way: chunked(way, in_chunks(way) + b"a b\r\n\r\n"),
        (400,),
        True,
    ),
    Case(
        "9110 6.5.1",
        "a trailer that frames the body",
        lambda way: chunked(way, in_chunks(way) + b"Content-Length: 2\r\n\r\n"),
        (400,),
        True,
    ),
    Case(
        "9110 6.5.1",
        "trailers are limited",
        lambda way: chunked(way, in_chunks(way) + b"X-A: b\r\n" * 3_000),
        (431,),
        True,
    ),
    Case("9112 9.3", "connections stay open", lambda way: get(way) + get(way), ("get", "get")),
    Case("9112 9.3", "those of HTTP/1.0 do not", _line("GET PATH HTTP/1.0"), ("get",), True),
    Case(
        "9112 9.3",
        "but where they are asked to",
        lambda way: get(way, "Connection: keep-alive\r\n", line=f"GET {way.get_path} HTTP/1.0"),
        ("get",),
    ),
    Case(
        "9112 9.3",
        "nothing is answered after the last request",
        lambda way: get(way, "Connection: close\r\n") + get(way),
        ("get",),
        True,
    ),
    Case(
        "9112 9.3.2",
        "answers come in the order of requests",
        lambda way: post(way) + get(way) + post(way),
        ("post", "get", "post"),
    ),
    Case(
        "9112 9.3.2",
        "what came before a bad request is answered",
        lambda way: get(way) + b"nonsense\r\n\r\n",
        ("get", 400),
        True,
    ),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=[f"{case.section} {case.rule}" for case in CASES])
def test_the_rule_is_kept(target_server: ConformanceServer, case: Case, way: str) -> None:
    unseen_way = unseen(target_server.ways[way])

    outcomes = [outcome(target_server, case, case.sent(unseen_way)) for _ in range(3)]

    expected = [_status(unseen_way, status) for status in case.answers]
    for statuses, has_ended in outcomes:
        known = [
            ANY if expected_status == ANY else status
            for status, expected_status in zip(statuses, expected, strict=True)
        ]
        assert (known, has_ended) == (expected, case.ends)


def unseen(way: Way) -> Way:
    """Return the way with a head that is sent for the first time."""
    fields = f"{way.fields}X-Number: {next(_NUMBERS)}\r\n"
    return Way(way.get_path, way.get_status, way.post_path, way.post_status, way.body, fields)


def _status(way: Way, status: int | str) -> int:
    named = {"get": way.get_status, "post": way.post_status}
    return named[status] if isinstance(status, str) else status


def outcome(target_server: ConformanceServer, case: Case, sent: bytes) -> tuple[list[int], bool]:
    """Return the statuses, and whether the connection has ended."""
    with Probe(target_server.port) as probe:
        probe.send(sent)
        answers = [probe.answer(case.method) for _ in case.answers]
        if case.ends:
            assert probe.is_ended()
        else:
            probe.send(get(target_server.ways["server"]))
            following = probe.answer()
            assert following is not None and following.status == 200
    statuses = [answer.status for answer in answers if answer is not None]
    for answer in filter(None, answers):
        assert_well_formed(answer)
    if case.ends and answers[-1] is not None:
        assert answers[-1].headers.get("connection") == "close"
    return statuses, probe.is_closed


def assert_well_formed(answer: Answer) -> None:
    """Check an answer by the rules for all answers.

    Source: RFC 9110 sections 6.6.1, 8.6, 15.5.2 and 15.5.6; RFC 9112 sections 2.3 and 6.2.
    """
    assert answer.version == b"HTTP/1.1"
    assert answer.headers["date"].endswith(" GMT")
    assert not {"content-length", "transfer-encoding"} <= answer.headers.keys()
    if answer.status in (204, 304):
        assert "content-length" not in answer.headers
    if answer.status == 401:
        assert answer.headers["www-authenticate"]
    if answer.status == 405:
        assert answer.headers["allow"]
    if answer.status >= 400 and answer.body:
        assert {"type", "code", "detail", "attr"} == json.loads(answer.body).keys()


def test_a_refused_key_is_answered_with_a_challenge(target_server: ConformanceServer) -> None:
    """RFC 9110 section 15.5.2 requires it."""
    stranger = Way(
        "/api/projects/", 401, "/capture/", 401, b'{"api_key": "phc_none", "event": "a"}'
    )
    for _ in range(2):
        with Probe(target_server.port) as probe:
            probe.send(get(stranger) + post(stranger))
            answers = [probe.answer() for _ in range(2)]

        for answer in answers:
            assert answer is not None and answer.status == 401
            assert_well_formed(answer)


@pytest.mark.parametrize("way", WAYS)
def test_head_is_answered_as_get_without_a_body(target_server: ConformanceServer, way: str) -> None:
    """RFC 9110 sections 9.1, 9.3.2 and 8.6 require it."""
    unseen_way = unseen(target_server.ways[way])
    for _ in range(2):
        with Probe(target_server.port) as probe:
            probe.send(get(unseen_way, line=f"HEAD {unseen_way.get_path} HTTP/1.1"))
            head = probe.answer("HEAD")
            probe.send(get(unseen_way))
            whole = probe.answer()

        assert head is not None and whole is not None
        assert (head.status, whole.status) == (unseen_way.get_status, unseen_way.get_status)
        assert head.headers["content-length"] == whole.headers["content-length"]
        assert head.headers["content-type"] == whole.headers["content-type"]


def test_head_of_a_stream_ends(target_server: ConformanceServer) -> None:
    management = target_server.ways["management"]
    with Probe(target_server.port) as probe:
        probe.send(get(management, line=f"HEAD {management.get_path}stream HTTP/1.1"))
        answer = probe.answer("HEAD")
        probe.send(get(target_server.ways["server"]))
        following = probe.answer()

    assert answer is not None and answer.headers["content-type"].startswith("text/event-")
    assert following is not None and following.body.startswith(b'{"status":"ok"')


@pytest.mark.parametrize("way", [way for way in WAYS if way != "server"])
@pytest.mark.parametrize("expectation", ["100-continue", "100-Continue", "100-continue, "])
def test_leave_comes_before_the_body(
    target_server: ConformanceServer, way: str, expectation: str
) -> None:
    """RFC 9110 section 10.1.1 requires it."""
    unseen_way = unseen(target_server.ways[way])
    framing = f"Content-Length: {len(unseen_way.body)}\r\nExpect: {expectation}\r\n"
    for _ in range(2):
        with Probe(target_server.port) as probe:
            probe.send(post(unseen_way, framing, b""))
            leave = probe.answer()
            assert leave is not None and leave.status == 100
            probe.send(unseen_way.body + get(unseen_way))
            final, following = probe.answer(), probe.answer()

        assert final is not None and final.status == unseen_way.post_status
        assert following is not None and following.status == unseen_way.get_status


@pytest.mark.parametrize("way", WAYS)
def test_after_a_final_answer_in_place_of_leave_no_body_is_taken_for_a_request(
    target_server: ConformanceServer, way: str
) -> None:
    """RFC 9110 section 10.1.1 requires it."""
    unseen_way = unseen(target_server.ways[way])
    framing = "Content-Length: 999999999\r\nExpect: 100-continue\r\n"
    for sends_body in (True, False):
        with Probe(target_server.port) as probe:
            probe.send(post(unseen_way, framing, b""))
            refused = probe.answer()
            if sends_body:
                probe.send(get(unseen_way))
            ended = probe.is_ended()

        # A client that may not send anything there is told so at once.
        assert refused is not None and refused.status == (405 if way == "server" else 413)
        assert (refused.headers["connection"], ended) == ("close", True)


@pytest.mark.parametrize("way", WAYS)
def test_a_request_that_is_cut_off_is_not_answered_as_a_whole_one(
    target_server: ConformanceServer, way: str
) -> None:
    """RFC 9112 section 8 requires it."""
    unseen_way = unseen(target_server.ways[way])
    for cut in (
        post(unseen_way)[:-1],
        chunked(unseen_way, in_chunks(unseen_way)),
        get(unseen_way)[:-2],
    ):
        with Probe(target_server.port) as probe:
            probe.send(cut)
            probe.end()
            answer = probe.answer()

            assert answer is None or answer.status >= 400


@pytest.mark.parametrize("way", WAYS)
def test_a_client_that_has_sent_all_reads_its_answers(
    target_server: ConformanceServer, way: str
) -> None:
    """RFC 9112 section 9.6 requires it."""
    unseen_way = unseen(target_server.ways[way])
    for sent, answers in (
        (post(unseen_way), 1),
        (get(unseen_way), 1),
        (post(unseen_way) + get(unseen_way), 2),
    ):
        for _ in range(10):
            with Probe(target_server.port) as probe:
                probe.send(sent)
                probe.end()
                statuses = [answer.status for _ in range(answers) if (answer := probe.answer())]

                assert len(statuses) == answers
                assert probe.is_ended()


def test_requests_in_one_write_are_answered_by_whichever_process_has_to(
    target_server: ConformanceServer,
) -> None:
    """RFC 9112 section 9.3.2 requires it."""
    order = ["process", "server", "process", "management", "process", "process", "server"]
    for _ in range(10):
        with Probe(target_server.port) as probe:
            probe.send(b"".join(post(target_server.ways[name]) for name in order))
            answers = [probe.answer() for _ in order]

        statuses = [answer.status for answer in answers if answer is not None]
        assert statuses == [target_server.ways[name].post_status for name in order]


def test_requests_in_any_pieces_are_answered_by_whichever_process_has_to(
    target_server: ConformanceServer,
) -> None:
    sent = (
        post(target_server.ways["process"])
        + get(target_server.ways["server"])
        + post(target_server.ways["process"])
    )
    step = 7
    with Probe(target_server.port) as probe:
        for start in range(0, len(sent), step):
            probe.send(sent[start : start + step])
        answers = [probe.answer() for _ in range(3)]

    assert [answer.status for answer in answers if answer is not None] == [200, 200, 200]
