"""The journal of deletions, which a restored backup does not have."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from fanion.events.event import Erasure
from fanion.ingest.erasure_journal_store import (
    JOURNAL_FILE,
    KEPT,
    ErasedPerson,
    ErasedProject,
    ErasureJournal,
    merged,
    read_journal,
)
from fanion.projects.deletion.store import ProjectDeletion

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def erasure(number: int, at: datetime = NOW) -> Erasure:
    return Erasure(
        id=number,
        project_id=1,
        persons=(UUID(int=number),),
        distinct_ids=frozenset({f"ann {number}", "zoë"}),
        version=5,
        with_events=True,
        requested_at=at,
    )


def ids(folder: Path) -> list[int]:
    return [entry.id for entry in read_journal(folder) if isinstance(entry, ErasedPerson)]


def test_deletions_are_noted_once(tmp_path: Path) -> None:
    journal = ErasureJournal(tmp_path)

    journal.note_persons([erasure(1)])
    journal.note_persons([erasure(1), erasure(2)])
    ErasureJournal(tmp_path).note_persons([erasure(2)])
    journal.note_projects([ProjectDeletion(7, NOW, is_swept=False)])
    journal.note_projects([ProjectDeletion(7, NOW, is_swept=True)])

    assert ids(tmp_path) == [1, 2]
    assert read_journal(tmp_path)[0] == ErasedPerson(
        id=1,
        project_id=1,
        persons=(UUID(int=1),),
        distinct_ids=("ann 1", "zoë"),
        with_events=True,
        requested_at=NOW,
    )
    assert read_journal(tmp_path)[-1] == ErasedProject(project_id=7, requested_at=NOW)
    assert (tmp_path / JOURNAL_FILE).stat().st_mode & 0o077 == 0


def test_an_entry_that_a_crash_has_cut_off_is_replaced(tmp_path: Path) -> None:
    ErasureJournal(tmp_path).note_persons([erasure(1), erasure(2)])
    content = (tmp_path / JOURNAL_FILE).read_bytes()
    (tmp_path / JOURNAL_FILE).write_bytes(content[:-5])

    assert ids(tmp_path) == [1]
    ErasureJournal(tmp_path).note_persons([erasure(2), erasure(3)])

    assert ids(tmp_path) == [1, 2, 3]


def test_old_entries_are_forgotten(tmp_path: Path) -> None:
    journal = ErasureJournal(tmp_path)
    journal.note_persons([erasure(1, NOW - KEPT - timedelta(seconds=1)), erasure(2, NOW - KEPT)])

    journal.forget_old(NOW)

    assert ids(tmp_path) == [2]
    journal.note_persons([erasure(2, NOW - KEPT), erasure(3)])
    assert ids(tmp_path) == [2, 3]


def test_without_a_folder_nothing_is_noted() -> None:
    journal = ErasureJournal(None)

    journal.note_persons([erasure(1)])
    journal.forget_old(NOW)


def test_journals_are_merged_in_order() -> None:
    person = ErasedPerson(
        id=1, project_id=1, persons=(), distinct_ids=(), with_events=True, requested_at=NOW
    )
    project = ErasedProject(project_id=1, requested_at=NOW - timedelta(days=1))
    old = ErasedProject(project_id=2, requested_at=NOW - timedelta(days=9))

    both = merged([person, old], [project, person], since=NOW - timedelta(days=2))

    assert both == [project, person]
