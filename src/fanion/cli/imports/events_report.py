"""The output of `fanion import-events`: previews, and what an import has done."""

import msgspec

from fanion.cli.output import printable, write_out
from fanion.transfer.event_files.comparison_client import Comparison
from fanion.transfer.event_files.mapping import EventMapping, write_mapping
from fanion.transfer.event_files.model import RefusedRow
from fanion.transfer.event_files.preview_reader import Preview
from fanion.transfer.event_files.progress_store import Progress

DIFFERENCES_SHOWN = 20


def show_preview(preview: Preview, mapping: EventMapping | None, as_json: bool) -> None:
    if as_json:
        body = {"mapping": mapping, **msgspec.to_builtins(preview)}
        write_out(msgspec.json.encode(body) + b"\n")
        return
    if mapping is not None:
        print("The mapping, for --map:")
        print(write_mapping(mapping))
    print(f"The first events of {preview.rows} rows:")
    for event in preview.events:
        text = msgspec.json.format(msgspec.json.encode(event), indent=2).decode()
        print("\n".join(printable(line) for line in text.split("\n")))
    if preview.first is not None and preview.last is not None:
        print(f"Times from {preview.first.isoformat()} to {preview.last.isoformat()}.")
    _show_refused(preview.refused[:10], len(preview.refused))
    for warning in preview.warnings:
        print(printable(f"Warning: {warning}"))


def show_progress(
    progress: Progress, comparison: Comparison | None, *, is_sent: bool, as_json: bool
) -> None:
    if as_json:
        body = {**msgspec.to_builtins(progress), "comparison": comparison}
        write_out(msgspec.json.encode(body) + b"\n")
        return
    sent = "sent" if is_sent else "readable (a dry run: nothing was sent)"
    print(f"Rows read: {progress.rows}. Events {sent}: {progress.events}.")
    if progress.unused:
        print(f"{progress.unused} rows are of other websites.")
    if progress.too_large:
        print(f"{progress.too_large} events are larger than a request may be, and were left out.")
    if progress.unordered:
        print(f"{progress.unordered} events are earlier than the one before them.")
    _show_refused(progress.shown, progress.refused)
    if comparison is not None:
        _show_comparison(progress, comparison)


def _show_refused(shown: list[RefusedRow], count: int) -> None:
    if count or shown:
        print(f"Rows refused: {max(count, len(shown))}. The first of them:")
    for row in shown:
        print(printable(f"  {row.file}, line {row.line}: {row.reason}"))


def _show_comparison(progress: Progress, comparison: Comparison) -> None:
    if not comparison.is_ingested:
        print("The server has not ingested everything yet; run the command again to compare.")
    if not comparison.differences:
        print(
            f"Events of this import that the server has stored: {comparison.stored}, all of them."
        )
        return
    print(
        f"The server has stored {comparison.stored} events of this import, "
        f"{progress.events - comparison.stored} fewer than were sent."
    )
    for difference in comparison.differences[:DIFFERENCES_SHOWN]:
        print(
            printable(f"  {difference.event}: {difference.sent} sent, {difference.stored} stored")
        )
    for reason, items in comparison.ingested.items():
        print(printable(f"  {items} events of the project in that time: {reason}"))
