"""An engine of a release whose format is not known is sent text, and the log and doctor say so."""

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from fanion.cli.doctor.command import examine_installation
from fanion.cli.doctor.stores import Finding
from fanion.config import Settings
from fanion.events.storage import store
from fanion.events.storage.encoder import TextEncoder
from fanion.events.storage.native_encoder import NativeEncoder
from fanion.events.storage.store import cost_of_text, open_events

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
SLOWER = "ingestion several times slower. Use 1.2.x, to which columns are sent."


@pytest.fixture
def unknown_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the release of the engine that runs here one that is not known."""
    monkeypatch.setattr(store, "NATIVE_VERSIONS", ("1.2.",))


async def report(settings: Settings) -> dict[str, Finding]:
    return {found.what: found for found in await examine_installation(settings, NOW)}


async def test_the_start_warns(own_events_url: str, unknown_engine: None) -> None:
    with capture_logs() as lines:
        opened = await open_events(own_events_url)
    await opened.close()

    [line] = [line for line in lines if line["event"] == "events_sent_as_text"]
    assert isinstance(opened.encoder, TextEncoder)
    assert line["log_level"] == "warning"
    assert line["reason"].startswith(f"Version {line['engine']} of the event engine")
    assert line["reason"].endswith(SLOWER)


async def test_a_known_engine_is_opened_without_a_word(own_events_url: str) -> None:
    with capture_logs() as lines:
        opened = await open_events(own_events_url)
    await opened.close()

    assert isinstance(opened.encoder, NativeEncoder)
    assert [line for line in lines if line["event"] == "events_sent_as_text"] == []


async def test_doctor_advises_on_a_server(
    tmp_path: Path, own_events_url: str, unknown_engine: None
) -> None:
    await (await open_events(own_events_url)).close()

    found = await report(Settings(data=tmp_path, events_url=own_events_url))

    assert found["event store"].ok
    assert found["event store"].advice.endswith(SLOWER)
    assert found["versions"].advice == ""


async def test_doctor_advises_on_the_embedded_engine(tmp_path: Path, unknown_engine: None) -> None:
    found = await report(Settings(data=tmp_path))

    assert found["versions"].ok
    assert found["versions"].advice.startswith(f"Version {version('chdb-core')} of ")
    assert found["versions"].advice.endswith(SLOWER)


async def test_doctor_has_nothing_to_advise_on_the_engine_of_the_lock_files(tmp_path: Path) -> None:
    found = await report(Settings(data=tmp_path))

    assert found["versions"].advice == ""


def test_a_version_that_is_not_told_is_unknown() -> None:
    assert cost_of_text("").startswith("Version unknown of ")
