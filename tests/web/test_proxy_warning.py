"""The warning about a proxy that is not trusted, in the log and in `fanion doctor`."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from fanion.cli.doctor.command import examine_installation
from fanion.cli.doctor.stores import Finding
from fanion.config import Settings, read_settings
from fanion.web.proxy_warning import (
    IgnoredHeaders,
    forget_ignored_headers,
    ignored_headers,
    trusted_proxies,
)
from tests.observability.test_logging import LOG_TIME
from tests.support.awaited import until
from tests.support.plain_http import post
from tests.support.preloaded import PreloadedServer

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
FORWARDED = {"x-forwarded-for": "192.0.2.44"}


def settings_in(folder: Path, **given: str) -> Settings:
    gone = "clickhouse://127.0.0.1:9/none"  # no event store is needed
    return read_settings({}, {"data": folder, "events_url": gone, **given})


async def proxies_finding(settings: Settings) -> Finding:
    return next(
        finding
        for finding in await examine_installation(settings, NOW)
        if finding.what == "proxies"
    )


def test_the_first_ignored_header_of_a_process_is_logged_and_written_to_a_file(
    tmp_path: Path,
) -> None:
    ignored = IgnoredHeaders(tmp_path)

    with capture_logs() as lines:
        ignored("203.0.113.9")
        ignored("198.51.100.7")
    until(lambda: ignored_headers(tmp_path) is not None, "nothing is noted")

    assert lines == [
        {
            "event": "forwarded_headers_ignored",
            "log_level": "warning",
            "peer": "203.0.113.9",
            "advice": "If this peer is your proxy, add its address to FANION_TRUSTED_PROXIES.",
        }
    ]
    assert (tmp_path / "ignored-forwarding.json").stat().st_mode & 0o777 == 0o600
    forget_ignored_headers(tmp_path)
    assert ignored_headers(tmp_path) is None


def test_a_folder_that_cannot_be_written_fails_no_request(tmp_path: Path) -> None:
    proxies = trusted_proxies(settings_in(tmp_path / "gone"))

    assert proxies.client_address("203.0.113.9:1", FORWARDED) == "203.0.113.9"


@pytest.mark.parametrize("content", [b"", b"{", b'{"peer": 1}', b"\xff"])
async def test_an_unreadable_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ignored-forwarding.json").write_bytes(content)

    assert await proxies_finding(settings_in(tmp_path)) == Finding("proxies", True, "trusted: none")


async def test_doctor_names_the_peer_whose_headers_were_ignored(tmp_path: Path) -> None:
    IgnoredHeaders(tmp_path)("203.0.113.9")
    until(lambda: ignored_headers(tmp_path) is not None, "nothing is noted")

    none = await proxies_finding(settings_in(tmp_path))
    other = await proxies_finding(settings_in(tmp_path, trusted_proxies="10.0.0.0/8, ::1"))
    mended = await proxies_finding(settings_in(tmp_path, trusted_proxies="203.0.113.0/24"))

    assert none.text.startswith("trusted: none; forwarded headers from 203.0.113.9 were ignored")
    assert none.advice == "If 203.0.113.9 is your proxy, add it to FANION_TRUSTED_PROXIES."
    assert none.ok  # any client can send such headers directly
    assert other.text.startswith("trusted: 10.0.0.0/8, ::1; forwarded headers from 203.0.113.9")
    assert mended == Finding("proxies", True, "trusted: 203.0.113.0/24")


@pytest.mark.parametrize(
    "processes", [pytest.param("1", marks=pytest.mark.long("starts a real server again")), "2"]
)
def test_a_server_warns_of_its_proxy(tmp_path: Path, processes: str) -> None:
    """The header is noted in whichever process it arrives."""
    server = PreloadedServer(tmp_path / "data", {"FANION_PROCESSES": processes})
    keys = server.setup()
    IgnoredHeaders(server.data)("198.51.100.7")
    until(lambda: ignored_headers(server.data) is not None, "nothing is noted")
    body = {"api_key": keys.project_api_key, "event": "a", "distinct_id": "u"}
    server.start()
    try:
        assert ignored_headers(server.data) is None  # the one of the run before
        assert post(f"{server.url}/e/", json=body, headers=FORWARDED).status_code == 200
        until(lambda: ignored_headers(server.data) is not None, "nothing is noted")
    finally:
        server.close()

    assert all(LOG_TIME.fullmatch(line["timestamp"]) for line in server.log_lines())
    assert "request" in {line["event"] for line in server.log_lines()}
    known = ignored_headers(server.data)
    assert known is not None
    assert known.peer == "127.0.0.1"
