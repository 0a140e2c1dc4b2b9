"""An import of files into a sink in memory: what is sent, refused, recorded and resumed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fanion.transfer.event_files.blocks_reader import BLOCK_ROWS, MARK, EventRows, ImportedFiles
from fanion.transfer.event_files.files.file_reader import open_sources
from fanion.transfer.event_files.files.rows_reader import Kind
from fanion.transfer.event_files.formats.amplitude import AmplitudeRows
from fanion.transfer.event_files.formats.posthog import PosthogRows
from fanion.transfer.event_files.formats.umami import UmamiRows
from fanion.transfer.event_files.import_service import EventImport
from fanion.transfer.event_files.mapping import MappedRows, guess_mapping
from fanion.transfer.event_files.model import FileProblem
from fanion.transfer.event_files.preview_reader import guess_of, preview_of
from fanion.transfer.event_files.progress_store import Progress, ProgressFile, job_of
from fanion.transfer.event_files.side_tables_store import SideTablesStore, load_side_tables
from fanion.transfer.posthog.sink_client import SinkError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = ["event", "timestamp", "distinct_id"]
HEADER = ",".join([*COLUMNS, "n"])


@dataclass
class MemorySink:
    """A sink that keeps what it gets, and fails when it has a number of events."""

    fails_at: int | None = None
    events: list[dict[str, Any]] = field(default_factory=list)

    async def write_events(self, items: Sequence[bytes]) -> int:
        if self.fails_at is not None and len(self.events) >= self.fails_at:
            raise SinkError("the server is gone")
        self.events += [json.loads(item) for item in items]
        return 0

    async def await_ingestion(self) -> bool:
        return True

    @property
    def ids(self) -> list[str]:
        return [event["uuid"] for event in self.events]


def mapped() -> MappedRows:
    mapping = guess_mapping(COLUMNS).mapping
    assert mapping is not None
    return MappedRows(mapping, NOW)


def files_of(paths: list[Path], rows: EventRows | None = None, kind: Kind = "csv") -> ImportedFiles:
    return ImportedFiles(open_sources(paths), kind, rows or mapped(), job_of(paths))


async def run(
    files: ImportedFiles, sink: MemorySink, folder: Path, refused_max: int = 10
) -> Progress:
    state = ProgressFile(folder / "state.json")
    progress = state.load(files.job)
    seconds = iter(range(10**9))  # each look at the clock is a second later, so that all is saved
    await EventImport(
        files, sink, state, progress, refused_max, lambda: next(seconds), lambda _: None
    ).run()
    return progress


def csv_file(path: Path, rows: int, start: int = 0, bad: Sequence[int] = ()) -> Path:
    lines = [
        "broken" if n in bad else f"paid,2024-05-01T00:{n // 60 % 60:02}:{n % 60:02}Z,user {n},{n}"
        for n in range(start, start + rows)
    ]
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


async def test_all_rows_are_sent_in_order_with_a_mark(tmp_path: Path) -> None:
    paths = [csv_file(tmp_path / "a.csv", 2500), csv_file(tmp_path / "b.csv", 10, 2500)]
    files, sink = files_of(paths), MemorySink()

    progress = await run(files, sink, tmp_path)

    assert [event["properties"]["n"] for event in sink.events] == list(range(2510))
    assert {event["properties"][MARK] for event in sink.events} == {files.job}
    assert (progress.rows, progress.events, progress.refused) == (2510, 2510, 0)
    assert progress.names == {"paid": 2510}
    assert progress.is_finished


async def test_an_import_that_ends_at_any_block_goes_on_behind_it(tmp_path: Path) -> None:
    paths = [csv_file(tmp_path / "a.csv", 2500, bad=[7]), csv_file(tmp_path / "b.csv", 1500, 2500)]
    whole = MemorySink()
    in_one = await run(files_of(paths), whole, tmp_path)
    (tmp_path / "state.json").unlink()

    ids: list[str] = []
    for _ in range(9):
        sink = MemorySink(fails_at=1)
        try:
            progress = await run(files_of(paths), sink, tmp_path)
        except SinkError:
            ids += sink.ids
            continue
        ids += sink.ids
        break

    assert ids == whole.ids
    assert progress.runs == 5
    progress.runs = in_one.runs
    assert progress == in_one


async def test_devices_that_were_joined_before_an_end_are_not_joined_again(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    rows = [
        {"event_type": "a", "event_time": "2024-05-01", "user_id": "u", "device_id": "d", "n": n}
        for n in range(BLOCK_ROWS + 5)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    first, second = MemorySink(fails_at=1), MemorySink()

    with pytest.raises(SinkError):
        await run(files_of([path], AmplitudeRows(NOW), "amplitude"), first, tmp_path)
    await run(files_of([path], AmplitudeRows(NOW), "amplitude"), second, tmp_path)

    names = [event["event"] for event in [*first.events, *second.events]]
    assert names == ["$identify", *["a"] * (BLOCK_ROWS + 5)]
    assert len(set(first.ids + second.ids)) == BLOCK_ROWS + 6


async def test_refused_rows_are_shown_with_their_places_up_to_a_limit(tmp_path: Path) -> None:
    files = files_of([csv_file(tmp_path / "a.csv", 2000, bad=range(0, 2000, 200))])

    progress = await run(files, MemorySink(), tmp_path)

    assert (progress.rows, progress.events, progress.refused) == (2000, 1990, 10)
    assert (progress.shown[1].file, progress.shown[1].line) == ("a.csv", 202)
    assert progress.shown[1].reason == "1 values, but the header has 4 columns"
    (tmp_path / "state.json").unlink()
    sink = MemorySink()
    with pytest.raises(FileProblem, match="10 rows cannot be imported, and at most 9 may be"):
        await run(files, sink, tmp_path, refused_max=9)
    assert len(sink.events) == 995  # of the block before


async def test_columns_may_move_but_not_be_missing(tmp_path: Path) -> None:
    moved, missing = tmp_path / "b.csv", tmp_path / "c.csv"
    moved.write_text("n,distinct_id,event,timestamp,new\n1,bob,left,2024-05-02,x\n")
    missing.write_text("event,timestamp,user\n")
    sink = MemorySink()

    with pytest.raises(
        FileProblem, match=r"c\.csv has no column 'distinct_id'.*: event, timestamp"
    ):
        await run(files_of([csv_file(tmp_path / "a.csv", 1), moved, missing]), sink, tmp_path)

    assert [event["$distinct_id"] for event in sink.events] == ["user 0", "bob"]
    assert sink.events[1]["properties"].items() >= {"n": 1, "new": "x"}.items()


async def test_events_of_posthog_may_be_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "uuid,event,distinct_id,timestamp,properties\n"
        '018f3c7e-5f5e-7b3e-9d2e-0a1b2c3d4e5f,paid,ada,2024-05-01,"{""plan"": ""pro""}"\n'
    )
    sink = MemorySink()

    await run(files_of([path], PosthogRows(NOW), "posthog"), sink, tmp_path)

    assert sink.ids == ["018f3c7e-5f5e-7b3e-9d2e-0a1b2c3d4e5f"]
    assert sink.events[0]["properties"]["plan"] == "pro"


async def test_events_out_of_order_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{','.join(COLUMNS)}\na,2024-05-02,x\na,2024-05-01,x\na,2024-05-03,x\n")

    progress = await run(files_of([path]), MemorySink(), tmp_path)

    assert progress.unordered == 1
    assert progress.first == datetime(2024, 5, 1, tzinfo=UTC)


def test_the_progress_of_other_files_is_refused(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "a.csv", 3)
    state = ProgressFile(tmp_path / "state.json")
    state.save(Progress(job_of([path])))

    csv_file(path, 4)

    with pytest.raises(FileProblem, match="is the progress of an import with other files"):
        state.load(job_of([path]))
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(FileProblem, match="is no progress of an import"):
        state.load(job_of([path]))
    with pytest.raises(FileProblem, match="cannot be written: Not a directory"):
        ProgressFile(path / "state").save(Progress(""))


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (b"[\n{}\n]", "jsonl", "a is one JSON array"),
        (b"PAR1....", "csv", "a is a Parquet file: use --from parquet."),
        (b"a,b\n", "parquet", "a is not a Parquet file."),
        (b"", "csv", "There is no row from which a mapping can be guessed."),
        (b"a,b,time\n", "csv", "No column looks like event or distinct_id; there are: a, b, time."),
    ],
)
def test_a_file_of_another_kind_or_without_rows_is_refused(
    tmp_path: Path, content: bytes, kind: Kind, reason: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)

    with pytest.raises(FileProblem) as raised:
        guess_of(open_sources([path]), kind)

    assert str(raised.value).startswith(reason)


def test_a_preview_shows_events_and_what_is_odd(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"event": "a", "timestamp": f"2024-05-0{3 - n}", "distinct_id": n} for n in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))

    preview = preview_of(files_of([path], kind="jsonl"))

    assert [event["distinct_id"] for event in preview.events] == ["0", "1", "2"]
    assert preview.events[0]["properties"] == {}
    assert preview.warnings[0].startswith("2 events are earlier than the one before them.")
    path.write_text(json.dumps({**rows[0], "properties": {}}))
    [warning] = preview_of(files_of([path], kind="jsonl")).warnings
    assert warning == "This looks like an export of PostHog or Fanion: use --from posthog."


async def test_tables_of_umami_are_joined_whatever_their_order(tmp_path: Path) -> None:
    events, data, session = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"
    events.write_text(
        "event_id,session_id,created_at,url_path,event_name\n"
        "e1,s1,2024-05-01 10:00:00+00,/p,buy\ne2,s2,2024-05-01 10:00:01+00,/p,\n"
    )
    data.write_text(
        "website_event_id,data_key,string_value,number_value,data_type\n"
        "e1,plan,pro,,1\ne1,price,,5.0000,2\n"
    )
    session.write_text("session_id,browser\ns1,firefox\n")
    sources = open_sources([session, events, data])
    store, sink = SideTablesStore(), MemorySink()
    load_side_tables(store, sources)

    await run(ImportedFiles(sources, "umami", UmamiRows(NOW, store), "job"), sink, tmp_path)

    bought, viewed = sink.events
    assert (
        bought["properties"].items() >= {"plan": "pro", "price": 5, "$browser": "firefox"}.items()
    )
    assert viewed["event"] == "$pageview"
    assert "$browser" not in viewed["properties"]
    store.close()
