"""A copy of an event store has the parts that the store has, whatever happens meanwhile."""

from pathlib import Path

import pytest

from fanion.events.event import EventStoreUnavailable
from fanion.events.storage import snapshot
from fanion.events.storage.snapshot import snapshot_event_store

TABLE = Path("store/abc/abc-def")


def make_part(folder: Path, name: str) -> None:
    part = folder / TABLE / name
    (part / "by_day.proj").mkdir(parents=True)
    for file in ("data.bin", "by_day.proj/data.bin"):
        (part / file).write_text(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = tmp_path / "events"
    for name in ("202605_1_1_0", "202605_2_4_1_7", "tmp_insert_202605_5_5_0", "tmp_202605_1_4_2"):
        make_part(store, name)
    (store / TABLE / "detached").mkdir()
    (store / TABLE / "format_version.txt").write_text("1")
    (store / "metadata").mkdir()
    (store / "metadata" / "default").symlink_to("../store/abc/abc-def")
    (store / "status").write_text("PID: 1")
    return store


def parts_in(folder: Path) -> set[str]:
    return {path.name for path in (folder / TABLE).iterdir() if "_" in path.name} - {
        "format_version.txt"
    }


def test_parts_are_shared_and_what_changes_is_copied(folder: Path, tmp_path: Path) -> None:
    into = tmp_path / "copy"

    snapshot_event_store(folder, into)

    assert parts_in(into) == {"202605_1_1_0", "202605_2_4_1_7"}
    for file in ("data.bin", "by_day.proj/data.bin"):
        assert (into / TABLE / "202605_1_1_0" / file).samefile(
            folder / TABLE / "202605_1_1_0" / file
        )
    version = TABLE / "format_version.txt"
    assert (into / version).read_text() == "1"
    assert not (into / version).samefile(folder / version)
    assert (into / "metadata" / "default").readlink() == Path("../store/abc/abc-def")
    assert not (into / "status").exists()


def test_a_merge_meanwhile_is_followed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine merges two parts, and deletes them, while the files of the first are linked."""
    into, link = tmp_path / "copy", snapshot._link_part

    def link_while_merging(part: Path, copy: Path) -> bool:
        if part.is_dir() and not (folder / TABLE / "202605_1_4_2").exists():
            make_part(folder, "202605_1_4_2")
            for name in ("202605_1_1_0", "202605_2_4_1_7"):
                (folder / TABLE / name).rename(folder / TABLE / f"delete_tmp_{name}")
        return link(part, copy)

    monkeypatch.setattr(snapshot, "_link_part", link_while_merging)
    snapshot_event_store(folder, into)

    assert parts_in(into) == {"202605_1_4_2"}


def test_a_store_that_changes_all_the_time_is_not_copied(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted = iter(range(10, 100))
    copy_once = snapshot._copy_once

    def copy_while_inserting(source: Path, copy: Path) -> set[Path]:
        make_part(folder, f"202605_{(n := next(inserted))}_{n}_0")
        return copy_once(source, copy)

    monkeypatch.setattr(snapshot, "_copy_once", copy_while_inserting)
    monkeypatch.setattr(snapshot, "monotonic", lambda: float(next(inserted)))

    with pytest.raises(EventStoreUnavailable, match="changed all the time"):
        snapshot_event_store(folder, tmp_path / "copy", stable_s=4)

    snapshot_event_store(folder, tmp_path / "other", stable_s=0)
    assert "202605_1_1_0" in parts_in(tmp_path / "other")
