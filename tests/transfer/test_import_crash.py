"""Imports that are killed in the middle: they have done nothing, and another one does all of it."""

import time
from pathlib import Path

import pytest
from msgspec import json

from tests.support.command import fanion
from tests.support.preloaded import PreloadedServer

pytestmark = pytest.mark.long("starts real servers and kills them")

FLAGS = 300
PAYLOAD = f'"{"x" * 20_000}"'  # so that much is on disk before the end
WRITTEN_BYTES = 2_000_000


def test_an_import_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    server = PreloadedServer(tmp_path / "data")
    server.setup()
    filters = {"groups": [{"rollout_percentage": 50}], "payloads": {"true": PAYLOAD}}
    flags = [{"key": f"flag-{n}", "filters": filters} for n in range(FLAGS)]
    file = tmp_path / "project.json"
    file.write_bytes(json.encode({"format": "fanion-project", "version": 1, "flags": flags}))
    arguments = ("import", "--project", "1", str(file))

    running = server.begin(*arguments)
    log = server.data / "records.db-wal"
    while not log.exists() or log.stat().st_size < WRITTEN_BYTES:
        assert running.poll() is None, "it was done before it could be killed"
        time.sleep(0.005)
    running.kill()
    running.wait()
    after_the_kill = json.decode(fanion(server, "export", "--project", "1"))
    fanion(server, *arguments)
    after_all = json.decode(fanion(server, "export", "--project", "1"))

    assert after_the_kill["flags"] == []
    assert len(after_all["flags"]) == FLAGS
    assert after_all["dashboards"] == []
