"""The samples in deploy/, checked by the programs that use them.

Real proxies run in front of a real server.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from fanion.config import PREFIX, Settings
from fanion.observability.logging import _TOKEN
from tests.support.awaited import until
from tests.support.proxies import (
    CADDY_SAMPLES,
    CLIENT,
    DEPLOY,
    HAPROXY_SAMPLES,
    MANAGEMENT,
    NGINX_SAMPLES,
    PUBLIC,
    SAMPLES,
    SAMPLES_BELOW_A_PATH,
    SAMPLES_OF_NAMES,
    SHARED,
    TRUSTING,
    Ports,
    ProxiedServer,
    haproxy_configuration,
    nginx_configuration,
    open_proxied_server,
    program,
    run_checked,
    started_proxy,
)
from tests.support.server import free_port

pytestmark = pytest.mark.long("starts real proxies")

CLAIMED = {
    "x-forwarded-for": "203.0.113.9",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "gopher",
    "x-forwarded-prefix": "/evil",
    "x-real-ip": "203.0.113.9",
    "forwarded": "for=203.0.113.9;host=evil.example",
}
# So many failures are enough for each proxy to leave a server out.
PROBES = 4
FIELDS = set(Settings.__struct_fields__)


@pytest.fixture(scope="module", params=SAMPLES_OF_NAMES)
def behind(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProxiedServer]:
    """Run a server behind a proxy, with an address for management."""
    folder = Path(tmp_path_factory.mktemp(request.param))
    ports = Ports()
    settings = {"FANION_MANAGEMENT_LISTEN": f"127.0.0.1:{ports.managements[0]}", **TRUSTING}
    with open_proxied_server(request.param, PUBLIC, "/_health", folder, ports, settings) as proxy:
        yield proxy


@pytest.fixture(scope="module", params=SAMPLES_BELOW_A_PATH)
def below(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProxiedServer]:
    """Run a server below a path, without the console: browsers get the landing page."""
    folder = Path(tmp_path_factory.mktemp(request.param))
    ports = Ports()
    settings = {"FANION_CONSOLE": "off", **TRUSTING}
    with open_proxied_server(
        request.param, SHARED, "/fanion/_health", folder, ports, settings
    ) as proxy:
        yield proxy


def test_the_address_of_an_event_is_its_clients_whatever_headers_it_sends(
    behind: ProxiedServer,
) -> None:
    body = {
        "api_key": behind.keys.project_api_key,
        "event": "came through a proxy",
        "distinct_id": "ann",
    }
    with behind.client(PUBLIC) as client:
        captured = client.post("/capture/", json=body, headers=CLAIMED)
    path = f"/api/projects/{behind.keys.project_id}/events/"
    events: list[Any] = []

    with behind.client(MANAGEMENT) as client:

        def arrived() -> bool:
            events[:] = client.get(path, headers=behind.bearer).json()["results"]
            return bool(events)

        until(arrived, "the event is missing")

    assert (captured.status_code, captured.json()) == (200, {"status": 1})
    assert [event["properties"]["$ip"] for event in events] == [CLIENT]


def test_links_lead_through_the_proxy_that_was_asked(behind: ProxiedServer) -> None:
    with behind.client(MANAGEMENT) as client:
        client.post("/api/projects/", json={"name": "b"}, headers=behind.bearer)
        page = client.get("/api/projects/?limit=1", headers=behind.bearer | CLAIMED).json()

        elsewhere = behind.bearer | CLAIMED | {"host": f"{MANAGEMENT}:8443"}
        of_port = client.get("/api/projects/?limit=1", headers=elsewhere).json()

    assert page["next"].startswith(f"https://{MANAGEMENT}/api/projects/?")
    assert of_port["next"].startswith(f"https://{MANAGEMENT}:8443/api/projects/?")


def test_below_a_path_every_link_leads_there(below: ProxiedServer) -> None:
    base = f"https://{SHARED}/fanion"
    with below.client(SHARED) as client:
        client.post("/fanion/api/projects/", json={"name": "b"}, headers=below.bearer)
        listed = client.get("/fanion/api/projects/?limit=1", headers=below.bearer | CLAIMED)
        schema = client.get("/fanion/api/schema/", headers=CLAIMED).json()
        page = client.get("/fanion/", headers={"accept": "text/html"} | CLAIMED).text
        documentation = client.get("/fanion/api/docs/", headers=CLAIMED).text
        linked = re.findall(r'<a href="(http[^"]+)"', page + documentation)
        answers = {link: client.get(link.removeprefix(below.origin)) for link in linked}
        without_slash = client.get("/fanion")

    assert listed.json()["next"].startswith(f"{base}/api/projects/?")
    assert schema["servers"] == [{"url": base}]
    assert f"api_host: &quot;{base}&quot;" in page
    assert len(answers) == 4
    for link, answer in answers.items():
        assert link.startswith(f"{base}/")
        assert answer.status_code == 200, link
    assert without_slash.status_code == 308
    assert without_slash.headers["location"].endswith("/fanion/")


def test_below_a_path_sdks_and_streams_are_answered(below: ProxiedServer) -> None:
    key = {"api_key": below.keys.project_api_key}
    files = {"csv": ("members.csv", b"x" * 22_000_000, "text/csv")}
    base = f"/fanion/api/projects/{below.keys.project_id}"
    with below.client(SHARED) as client:
        captured = client.post("/fanion/capture/", json={**key, "event": "a", "distinct_id": "u"})
        decided = client.post("/fanion/flags/?v=2", json={**key, "distinct_id": "u"})
        form = {"name": "many", "is_static": "true"}
        many = client.post(f"{base}/cohorts/", data=form, files=files, headers=below.bearer)
        hidden = [client.get(f"/fanion/metrics{end}").status_code for end in ("", "/")]
        elsewhere = client.get("/_health")
        with client.stream("GET", f"{base}/feature_flags/stream/", headers=below.bearer) as stream:
            first = next(stream.iter_bytes())

    assert (captured.status_code, decided.status_code) == (200, 200)
    assert many.status_code in (201, 400), many.text  # the server's own answer, either way
    assert many.headers["content-type"] == "application/json"
    assert hidden == [404, 404]
    assert "application/json" not in elsewhere.headers.get("content-type", "")
    assert b"data:" in first


@pytest.mark.parametrize(
    ("host", "path", "status"),
    [
        (PUBLIC, "/_health", 200),
        (PUBLIC, "/_ready", 200),
        (PUBLIC, "/api/projects/", 404),
        (PUBLIC, "/metrics", 404),
        (PUBLIC, "/metrics/", 404),
        (MANAGEMENT, "/api/projects/", 200),
        (MANAGEMENT, "/api/docs/", 200),
        (MANAGEMENT, "/metrics", 404),
        (MANAGEMENT, "/metrics/", 404),
    ],
)
def test_each_name_shows_what_it_is_for(
    behind: ProxiedServer, host: str, path: str, status: int
) -> None:
    with behind.client(host) as client:
        assert client.get(path, headers=behind.bearer).status_code == status


def test_a_batch_may_be_as_large_as_the_server_takes(behind: ProxiedServer) -> None:
    event = {"event": "large", "distinct_id": "cid", "properties": {"x": "x" * 900_000}}
    body = {"api_key": behind.keys.project_api_key, "batch": [event] * 22}
    with behind.client(PUBLIC) as client:
        taken = client.post("/batch/", json=body | {"batch": body["batch"][:21]})
        refused = client.post("/batch/", json=body | {"batch": [event] * 24})

    assert len(json.dumps(event)) * 21 > 18_000_000
    assert (taken.status_code, refused.status_code) == (200, 413)


def test_a_file_of_members_may_be_larger_than_a_batch(behind: ProxiedServer) -> None:
    files = {"csv": ("members.csv", b"x" * 22_000_000, "text/csv")}
    form = {"name": "many", "is_static": "true"}
    path = f"/api/projects/{behind.keys.project_id}/cohorts/"
    with behind.client(MANAGEMENT) as client:
        answer = client.post(path, data=form, files=files, headers=behind.bearer)

    assert answer.status_code in (201, 400), answer.text  # the server's own answer, either way
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("host", [PUBLIC, MANAGEMENT])
def test_a_stream_is_not_held_back(behind: ProxiedServer, host: str) -> None:
    path = f"/api/projects/{behind.keys.project_id}/feature_flags/stream/"
    with (
        behind.client(host) as client,
        client.stream("GET", path, headers=behind.bearer) as stream,
    ):
        first = next(stream.iter_bytes())

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert b"data:" in first


def test_live_events_are_not_held_back(behind: ProxiedServer) -> None:
    path = f"/api/projects/{behind.keys.project_id}/events/stream/?event=live"
    event = {"api_key": behind.keys.project_api_key, "event": "live", "distinct_id": "u"}
    with (
        behind.client(MANAGEMENT) as client,
        behind.client(PUBLIC) as sdk,
        client.stream("GET", path, headers=behind.bearer) as stream,
    ):
        pieces = stream.iter_bytes()
        opening = next(pieces)
        sdk.post("/capture/", json=event).raise_for_status()
        shown = next(pieces)

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert opening.startswith(b"retry: ")
    assert b'"event":"live"' in shown


SECRETS = {
    "query": "phc_secret-in-a-query",
    "path": "secret-in-a-path",
    "header": "phx_secret-in-a-header",
}


def send_secrets(client: httpx.Client, prefix: str) -> list[httpx.Response]:
    """Send secrets wherever keys and tokens are sent, to paths that exist and to others."""
    query = (
        f"token={SECRETS['query']}&api_key={SECRETS['query']}&personal_api_key={SECRETS['query']}"
    )
    headers = {
        "authorization": f"Bearer {SECRETS['header']}",
        "x-api-key": SECRETS["header"],
        "cookie": f"fanion-session={SECRETS['header']}",
        "referer": f"https://{PUBLIC}/api/signup/{SECRETS['path']}/",
    }
    paths = (
        *("/_health", "/flags/definitions", "/nothing", "/metrics"),
        f"/array/{SECRETS['path']}/config",
        *(f"/api/{kind}/{SECRETS['path']}/" for kind in ("reset", "sign_in_links", "signup")),
    )
    return [client.get(f"{prefix}{path}?{query}", headers=headers) for path in paths]


def logs_of(folder: Path) -> str:
    return "".join(file.read_text() for file in folder.glob("*.log"))


@pytest.mark.parametrize("is_up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_the_proxies_log_requests_without_keys_and_tokens(
    sample: str, is_up: bool, tmp_path: Path
) -> None:
    """The logs include what the proxies report about a server that does not answer."""
    prefix = "/fanion" if "path" in sample else ""
    host = SHARED if prefix else MANAGEMENT
    ports = Ports()
    with ExitStack() as stack:
        if is_up:
            for port in (*ports.servers, *ports.managements):
                stack.enter_context(answering_all(port))
        stack.enter_context(started_proxy(sample, tmp_path, ports))
        transport = httpx.HTTPTransport(verify=False)
        url = f"https://127.0.0.1:{ports.proxy}"
        with httpx.Client(transport=transport, base_url=url, headers={"host": host}) as client:
            answers = send_secrets(client, prefix)
        # A proxy may write the line of a request after its answer.
        until(lambda: "/api/signup/" in logs_of(tmp_path), "the last request is not logged")
    logs = logs_of(tmp_path)

    assert logs.count("/_health") >= 1
    assert [secret for secret in SECRETS.values() if secret in logs] == []
    assert "secret-in" not in logs
    assert {answer.headers["strict-transport-security"] for answer in answers} == {
        "max-age=31536000"
    }
    statuses = {answer.status_code for answer in answers}
    assert statuses == {200, 404} if is_up else 404 in statuses <= {404, 502, 503}


@pytest.mark.parametrize("sample", [*CADDY_SAMPLES, *HAPROXY_SAMPLES])
def test_servers_that_are_not_ready_are_asked_if_there_are_no_others(
    sample: str, tmp_path: Path
) -> None:
    """Flags, and captures into the spool, are answered while the stores are away."""
    prefix, host = ("/fanion", SHARED) if "path" in sample else ("", PUBLIC)
    ports = Ports()
    url = f"https://127.0.0.1:{ports.proxy}{prefix}"
    with (
        answering_all(ports.servers[0], ready=503) as requested,
        started_proxy(sample, tmp_path, ports),
    ):
        until(lambda: requested.count("/_ready") >= PROBES, "the proxy does not ask /_ready")
        headers, body = {"host": host}, b"x" * 100_000
        answer = httpx.post(f"{url}/capture/", content=body, headers=headers, verify=False)

    assert answer.status_code == 200
    assert requested.count("/capture/") == 1


@pytest.mark.parametrize("sample", SAMPLES)
def test_management_is_read_from_another_server_while_one_starts(
    sample: str, tmp_path: Path
) -> None:
    """A change is sent once, by nginx also to the server that starts."""
    prefix, host = ("/fanion", SHARED) if "path" in sample else ("", MANAGEMENT)
    ports = Ports((free_port(), free_port()), (free_port(), free_port()))
    starting, ready = ports.servers if prefix else ports.managements
    url = f"https://127.0.0.1:{ports.proxy}{prefix}/api/projects/"
    headers = {"host": host}
    with (
        answering_all(starting, ready=503, others=503) as refused,
        answering_all(ready) as answered,
        started_proxy(sample, tmp_path, ports),
    ):
        if sample not in NGINX_SAMPLES:
            until(lambda: refused.count("/_ready") >= PROBES, "the proxy does not ask /_ready")
        changes = [httpx.post(url, content=b"{}", headers=headers, verify=False) for _ in range(4)]
        sent = (answered + refused).count("/api/projects/")
        reads = [httpx.get(url, headers=headers, verify=False) for _ in range(8)]

    assert {read.status_code for read in reads} == {200}
    assert sent == len(changes)
    allowed = {200, 503} if sample in NGINX_SAMPLES else {200}
    assert {change.status_code for change in changes} <= allowed


@contextmanager
def answering_all(port: int, ready: int = 200, others: int = 200) -> Iterator[list[str]]:
    """Run a server that answers every GET and POST, and yield what is requested.

    Args:
        ready: The status of `/_ready`.
        others: The status of all other paths.
    """
    requested: list[str] = []

    class Everything(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requested.append(self.path)
            self.send_response(ready if self.path == "/_ready" else others)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Everything) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield requested
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_proxies_know_every_path_with_a_token(sample: str) -> None:
    """The server's own log leaves out the same paths."""
    [kinds] = re.findall(r"\(\?:([a-z_|]+)\)/\)", _TOKEN.pattern)

    assert f"(?:{kinds}|array)/" in (DEPLOY / sample).read_text()


def test_public_clients_do_not_reach_the_name_of_management() -> None:
    """The samples say so in different ways; a client on loopback counts as private."""
    nginx = (DEPLOY / "nginx.conf").read_text()
    caddy = (DEPLOY / "Caddyfile").read_text()
    haproxy = (DEPLOY / "haproxy.cfg").read_text()

    [management] = [part for part in nginx.split("\nserver {") if f"name {MANAGEMENT};" in part]
    assert re.search(r"allow 10\.0\.0\.0/8;.*deny all;", management, re.DOTALL)
    assert "@strangers not remote_ip" in caddy
    assert "respond @strangers 403" in caddy
    assert "acl private src 127.0.0.0/8 10.0.0.0/8 192.168.0.0/16" in haproxy
    assert "http-request deny deny_status 403 if management !private" in haproxy


@pytest.mark.parametrize("sample", NGINX_SAMPLES)
def test_nginx_accepts_its_sample(tmp_path: Path, sample: str) -> None:
    nginx, ports = program("nginx"), Ports((20_000, 20_001), (20_002, 20_003), 20_004, 20_005)

    reported = run_checked(
        *(nginx, "-t", "-p", str(tmp_path)),
        *("-c", str(nginx_configuration(tmp_path, ports, sample))),
    )

    assert "[warn]" not in reported.replace('the "user" directive', "")


@pytest.mark.parametrize("sample", HAPROXY_SAMPLES)
def test_haproxy_accepts_its_sample(tmp_path: Path, sample: str) -> None:
    haproxy, ports = program("haproxy"), Ports((20_000, 20_001), (20_002, 20_003), 20_004, 20_005)

    reported = run_checked(haproxy, "-c", "-f", str(haproxy_configuration(tmp_path, ports, sample)))

    assert "WARNING" not in reported


@pytest.mark.parametrize("sample", CADDY_SAMPLES)
def test_caddy_accepts_its_sample(tmp_path: Path, sample: str) -> None:
    caddy, path, home = program("caddy"), str(DEPLOY / sample), str(tmp_path)

    reported = run_checked(
        *(caddy, "validate", "--config", path, "--adapter", "caddyfile"),
        HOME=home,
        XDG_DATA_HOME=home,
    )

    assert '"level":"warn"' not in reported


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """The program only mentions what it does not know."""
    unit = tmp_path / "fanion.service"
    text = (DEPLOY / "fanion.service").read_text()
    unit.write_text(text.replace("/opt/fanion/.venv/bin/fanion", shutil.which("true") or ""))

    reported = run_checked(program("systemd-analyze"), "verify", "--man=no", str(unit))

    assert [line for line in reported.splitlines() if "fanion" in line] == []


def test_the_unit_may_do_little() -> None:
    lines = set((DEPLOY / "fanion.service").read_text().splitlines())

    assert {
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "CapabilityBoundingSet=",
        "StateDirectoryMode=0700",
        "UMask=0077",
        "MemoryMax=4G",
        "KillMode=mixed",
    } <= lines


def test_the_samples_name_settings_that_there_are() -> None:
    lines = (DEPLOY / "fanion.env").read_text().splitlines()
    named = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}

    assert {name.removeprefix(PREFIX).lower() for name in named} <= FIELDS


@pytest.mark.parametrize("sample", NGINX_SAMPLES)
def test_limits_of_the_samples_are_the_servers_own(sample: str) -> None:
    mebibyte, settings = 1024 * 1024, Settings()
    nginx = (DEPLOY / sample).read_text()
    # The limits are rounded up: a body that is one byte too large for the server may pass.
    body = -(-settings.body_bytes_max // mebibyte)
    upload = -(-settings.upload_bytes_max // mebibyte)

    assert set(re.findall(r"client_max_body_size (\w+);", nginx)) == {f"{body}m", f"{upload}m"}
