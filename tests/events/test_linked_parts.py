"""Links to the parts of an event store that another process changes."""

import shutil
from pathlib import Path

import pytest

from fanion.events.storage.linked_parts import LinkedParts

TABLE = "store/abc/abcdef"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for part in ("202601_1_1_0", "202601_2_2_0"):
        write_part(tmp_path / "events", part)
    table = tmp_path / "events" / TABLE
    (table / "format_version.txt").write_text("1")
    (table / "mutation_3.txt").write_text("DELETE")
    (table / "detached").mkdir()
    (table / "tmp_insert_202601_9_9_0").mkdir()
    (table / "deduplication_logs").mkdir()
    (table / "deduplication_logs" / "deduplication_log_1.txt").write_text("token")
    (tmp_path / "events" / "metadata").mkdir()
    (tmp_path / "events" / "metadata" / "default").symlink_to("../store/abc/abcdef")
    (tmp_path / "events" / "status").write_text("PID: 1")
    return tmp_path / "events"


def write_part(events: Path, name: str, data: bytes = b"rows") -> None:
    part = events / TABLE / name
    (part / "sum.proj").mkdir(parents=True)
    (part / "data.bin").write_bytes(data)
    (part / "checksums.txt").write_bytes(b"hash of " + data)
    (part / "sum.proj" / "data.bin").write_bytes(b"sums")


def linked(store: Path) -> LinkedParts:
    return LinkedParts(store, store / "shadow" / "x")


def names(parts: LinkedParts) -> list[str]:
    return [part.path.removeprefix(f"{TABLE}/") for part in parts.parts()]


def test_finished_parts_are_linked_and_nothing_else(store: Path) -> None:
    parts = linked(store)

    parts.link_all()

    assert names(parts) == ["202601_1_1_0", "202601_2_2_0"]
    first = parts.parts()[0].copy
    assert (first / "data.bin").samefile(store / TABLE / "202601_1_1_0" / "data.bin")
    assert (first / "sum.proj" / "data.bin").read_bytes() == b"sums"


def test_a_part_that_is_merged_away_is_forgotten(store: Path) -> None:
    parts = linked(store)
    parts.link_some()

    write_part(store, "202601_1_2_1")
    for part in ("202601_1_1_0", "202601_2_2_0"):
        shutil.rmtree(store / TABLE / part)
    parts.link_all()

    assert names(parts) == ["202601_1_2_1"]
    assert [path.name for path in (store / "shadow" / "x" / TABLE).iterdir()] == ["202601_1_2_1"]


def test_linked_files_outlive_the_part(store: Path) -> None:
    parts = linked(store)
    parts.link_all()

    shutil.rmtree(store / TABLE)

    assert (parts.parts()[0].copy / "data.bin").read_bytes() == b"rows"


def test_the_key_of_a_part_tells_its_content(store: Path) -> None:
    before = linked(store)
    before.link_all()
    keys = [part.key for part in before.parts()]
    shutil.rmtree(store / TABLE / "202601_2_2_0")
    shutil.rmtree(store / "shadow")
    write_part(store, "202601_2_2_0", b"else")

    after = linked(store)
    after.link_all()

    assert after.parts()[0].key == keys[0]
    assert after.parts()[1].key != keys[1]


def test_small_files_and_links_are_copied(store: Path, tmp_path: Path) -> None:
    parts = linked(store)

    parts.copy_small_files(tmp_path / "copy")

    copied = [path.name for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert sorted(copied) == ["format_version.txt", "mutation_3.txt"]
    assert parts.links() == {"metadata/default": "../store/abc/abcdef"}


def test_a_store_without_a_folder_has_no_parts(tmp_path: Path) -> None:
    parts = linked(tmp_path / "events")

    parts.link_all()
    parts.copy_small_files(tmp_path / "copy")

    assert parts.parts() == []
    assert parts.links() == {}
