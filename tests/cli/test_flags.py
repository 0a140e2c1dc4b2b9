"""The command `fanion flags snapshot`, as an operator runs it."""

import asyncio
import re
import stat
from pathlib import Path

import pytest

from fanion.flags.evaluation.offline_store import OfflineFlagStore
from fanion.flags.evaluation.snapshot_store import take_over_snapshot
from fanion.projects.auth.keys import hash_key, mask
from tests.cli.test_keys import run_for_json
from tests.cli.test_transfer import Fanion, write_document
from tests.cli.test_transfer import fanion as fanion  # the fixture

KEY = re.compile(rb"ph[a-z]_\w+")


@pytest.mark.every_engine
def test_a_snapshot_holds_all_projects_with_their_flags(fanion: Fanion, tmp_path: Path) -> None:
    [first] = run_for_json(fanion, "projects", "list")
    second = run_for_json(fanion, "projects", "create", "Second")
    flag = {"key": "beta", "name": "", "created_at": "2024-01-01T00:00:00Z"}
    document = write_document(tmp_path / "flags.json", flags=[flag])
    assert fanion("import", document, "--project", str(second["project_id"])).exit_code == 0
    out = tmp_path / "flags.db"

    done = fanion("flags", "snapshot", "--out", str(out))

    assert (done.exit_code, done.stdout) == (0, f"2 projects: {out}\n")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    copy = OfflineFlagStore(tmp_path / "copy.db")
    take_over_snapshot(out, copy)
    assert asyncio.run(flags_of(copy)) == {
        first["project_api_key"]: [],
        second["project_api_key"]: ["beta"],
    }


async def flags_of(copy: OfflineFlagStore) -> dict[str, list[str]]:
    """Return the keys of each project's flags, by the project's key."""
    keys = {}
    for project in await copy.projects():
        flags = await copy.get_copy(project.id)
        assert flags is not None
        keys[project.api_token] = [flag.key for flag in flags.definitions.flags]
    return keys


def test_a_snapshot_holds_no_key_but_those_of_projects(fanion: Fanion, tmp_path: Path) -> None:
    [project] = run_for_json(fanion, "projects", "list")
    personal = run_for_json(fanion, "keys", "create")["personal_api_key"]
    secret = run_for_json(fanion, "projects", "secret-key", str(project["project_id"]))
    fanion("projects", "reset-key", str(project["project_id"]))
    [after] = run_for_json(fanion, "projects", "list")

    fanion("flags", "snapshot", "--out", str(tmp_path / "flags.db"))

    raw = (tmp_path / "flags.db").read_bytes()
    keys = {created["project_api_key"].encode() for created in (project, after)}
    assert set(KEY.findall(raw)) == keys
    for key in (personal, secret["secret_api_key"]):
        assert hash_key(key).encode() not in raw
        assert mask(key).encode() not in raw


def test_a_snapshot_that_cannot_be_written_is_refused(fanion: Fanion, tmp_path: Path) -> None:
    out = tmp_path / "gone" / "flags.db"

    done = fanion("flags", "snapshot", "--out", str(out))

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"fanion: {out} cannot be written: No such file or directory\n"
