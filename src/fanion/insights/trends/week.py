"""The hours of a week: a trend by weekday and hour.

Source: insights.md, section 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from fanion.insights.dates.offsets import Offsets
from fanion.insights.sql.compiler import Compiler
from fanion.properties.bindings import MICROSECOND, micros

DAYS, HOURS = 7, 24
# What one number is of: an hour of a weekday, a weekday, an hour of all weekdays, or everything.
Part = Literal["cell", "weekday", "hour", "all"]
# The number of numbers.
SIZES: Final[Mapping[Part, int]] = {"cell": DAYS * HOURS, "weekday": DAYS, "hour": HOURS, "all": 1}
_OF_CELL: Final[Mapping[Part, str]] = {
    "cell": "{cell}",
    "weekday": "intDiv({cell}, 24)",
    "hour": "modulo({cell}, 24)",
    "all": "0",
}
# 1970 began with a Thursday. So many weeks more, and no time is negative.
_TO_MONDAY: Final = timedelta(days=3, weeks=4_000)
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class WeekPart:
    """The numbers that a trend by weekday and hour is counted in.

    Attributes:
        offsets: Those of the project's zone in the range.
        at: Only events of this number are counted; None for all.
    """

    offsets: Offsets
    part: Part = "cell"
    at: int | None = None

    def number(self, compiler: Compiler, time: str = "timestamp") -> str:
        """Return SQL for the number that an event belongs to, from 0; Monday is the first day."""
        bind = compiler.bindings
        starts = bind.add([micros(start) for start in self.offsets.starts], "Array(Int64)")
        moved = [(offset + _TO_MONDAY) // MICROSECOND for offset in self.offsets.offsets]
        moved_by = bind.add(moved, "Array(Int64)")
        at = f"toUnixTimestamp64Micro({time})"
        local = f"{at} + transform(roundDown({at}, {starts}), {starts}, {moved_by}, toInt64(0))"
        hours = bind.add(_HOUR // MICROSECOND, "Int64")
        cell = f"modulo(intDiv({local}, {hours}), {DAYS * HOURS})"
        return f"toInt64({_OF_CELL[self.part].format(cell=cell)})"

    def condition(self, compiler: Compiler, time: str = "timestamp") -> str:
        """Return a condition that an event belongs to `at`, empty without one."""
        if self.at is None:
            return ""
        return f"\n   AND {self.number(compiler, time)} = {compiler.bindings.add(self.at, 'Int64')}"
