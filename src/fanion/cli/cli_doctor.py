"""`fanion doctor`."""

from collections.abc import Sequence

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fanion.cli.doctor import Finding, examine
from fanion.cli.output import Data, printable, run, settings_of
from fanion.runtime.clock import utc_now


def doctor(data: Data = None) -> None:
    """Check settings, stores, disk, clock and versions, and say what to do. Exit code 1 when
    something is wrong."""
    findings = run(examine(settings_of(data=data), utc_now()))
    _show(findings)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


def _show(findings: Sequence[Finding]) -> None:
    """A table on a terminal; elsewhere a line for each, and one for what to do about it."""
    terminal = Console()
    if not terminal.is_terminal:
        for one in findings:
            print(f"{_mark(one)}  {one.what:14} {printable(one.found)}")
            if one.advice:
                print(f"{'':18} -> {printable(one.advice)}")
        return
    table = Table("", "Check", "Found", "What to do", box=box.SIMPLE_HEAD)
    table.columns[1].no_wrap = True
    for column in table.columns[2:]:
        column.overflow = "fold"
    for one in findings:
        mark = Text(_mark(one), "green" if one.ok else "bold red")
        table.add_row(mark, one.what, Text(printable(one.found)), Text(printable(one.advice)))
    terminal.print(table)


def _mark(finding: Finding) -> str:
    return "ok" if finding.ok else "!!"
