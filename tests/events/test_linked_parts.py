"""Links to the parts of an event store that another process changes."""

import shutil
from pathlib import Path

import pytest

from fanion.events.storage import linked_parts
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


def test_the_links_can_be_opened_as_a_store(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    parts = LinkedParts(store, copy)

    parts.link_all()
    parts.make_openable()

    assert (copy / "metadata" / "default").readlink() == Path("../store/abc/abcdef")
    version = Path(TABLE, "format_version.txt")
    assert (copy / version).read_text() == "1"
    assert not (copy / version).samefile(store / version)
    assert sorted(path.name for path in (copy / TABLE).iterdir() if path.is_dir()) == [
        "202601_1_1_0",
        "202601_2_2_0",
    ]
    assert not (copy / "status").exists()


def test_a_merge_while_the_first_part_is_linked_is_followed(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link_folder = linked_parts._link_folder

    def link_while_merging(source: Path, target: Path) -> bool:
        if not (store / TABLE / "202601_1_2_1").exists():
            write_part(store, "202601_1_2_1")
            for part in ("202601_1_1_0", "202601_2_2_0"):
                (store / TABLE / part).rename(store / TABLE / f"delete_tmp_{part}")
        return link_folder(source, target)

    monkeypatch.setattr(linked_parts, "_link_folder", link_while_merging)
    parts = linked(store)
    parts.link_all()

    assert names(parts) == ["202601_1_2_1"]


def test_a_store_that_changes_all_the_time_is_given_up(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted = iter(range(10, 100))

    class Changing(LinkedParts):
        def link_some(self) -> None:
            super().link_some()
            write_part(store, f"202601_{(number := next(inserted))}_{number}_0")

    monkeypatch.setattr(linked_parts, "monotonic", lambda: float(next(inserted)))

    with pytest.raises(OSError, match="change all the time"):
        Changing(store, store / "shadow" / "x").link_all(8)
