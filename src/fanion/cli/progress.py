"""A progress bar on standard error: how far a command is, its rate and the remaining time.

Without a terminal nothing is written.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

UPDATES_PER_S = 4


class Bar:
    """A bar that shows nothing, for commands without a terminal."""

    is_visible = False

    def expect(self, total: float) -> None:
        """Set the total, once it is known."""

    def advance(self, count: int = 1) -> None:
        """Add `count` to what is done."""

    def reach(self, done: float, count: int) -> None:
        """Set how far the work has come in all.

        Args:
            count: Counts what the rate is of, where `done` is in another unit, such as time.
        """


@dataclass
class _TerminalBar(Bar):
    is_visible = True

    progress: Progress
    task: TaskID
    _count: int = 0

    def expect(self, total: float) -> None:
        self.progress.update(self.task, total=total)

    def advance(self, count: int = 1) -> None:
        self._count += count
        self.progress.update(self.task, advance=count, count=self._count)

    def reach(self, done: float, count: int) -> None:
        self.progress.update(self.task, completed=done, count=count)


@contextmanager
def progress_bar(what: str, unit: str) -> Iterator[Bar]:
    """Yield a progress bar, which is cleared at the end because the command prints what was done.

    Until a total is expected the bar shows only that work goes on, and the rate.

    Args:
        what: The work, as a heading.
        unit: The plural of what the rate counts.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Bar()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        _Rate(unit),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, refresh_per_second=UPDATES_PER_S
    ) as progress:
        yield _TerminalBar(progress, progress.add_task(what, total=None, count=0))


class _Rate(ProgressColumn):
    """The rate since the beginning, because the steps differ widely in size."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        count = task.fields["count"]
        if not (count and task.elapsed):
            return Text("")
        return Text(f"{count:,} {self._unit}, {count / task.elapsed:,.0f}/s")
