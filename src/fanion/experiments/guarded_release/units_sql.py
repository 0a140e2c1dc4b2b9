"""The units of a guarded release: eligible people, with the arm that their hash puts them in.

Source: experiments.md section 5c; flags.md section 3.
"""

from datetime import datetime
from typing import Final

from fanion.events.storage.filters_sql import group_key
from fanion.experiments.calculation.question import ExperimentQuestion
from fanion.experiments.calculation.units_sql import IS_EXPOSED, UnitsSql
from fanion.experiments.guarded_release.question import StepQuestion
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sql.compiler import Compiler

# The first 15 hexadecimal digits of SHA-1 as a share of 1, as evaluation computes it.
_HASH: Final = (
    "reinterpretAsUInt64(reverse(unhex(concat('0', "
    "substring(hex(SHA1(concat({key}, '.', {identifier}))), 1, 15))))) / 1152921504606846976"
)


class StepUnitsSql(UnitsSql):
    """The SQL of the units of one step. Arm 1 is outside of the rollout, arm 2 inside."""

    def __init__(
        self, compiler: Compiler, question: ExperimentQuestion, reach: DateRange, now: datetime
    ) -> None:
        assert isinstance(question, StepQuestion)
        super().__init__(compiler, question, reach, now)
        self._percentage = question.percentage
        self._step_at = question.step_at

    def _arm(self) -> str:
        bind, index = self.compiler.bindings, self.window.group_type_index
        identifier = "distinct_id" if index is None else group_key(index)
        hashed = _HASH.format(key=bind.text(self.window.flag_key), identifier=identifier)
        share = bind.add(self._percentage / 100, "Float64")
        return f"toUInt8(if({hashed} <= {share}, 2, 1))"

    def counted(self, units: str) -> str:
        """Return rows (actor, arm, first_at, …), whose time begins with the step at the earliest.

        A person with several distinct ids has the arm of the one that called the flag first.
        """
        return f"""
  SELECT * EXCEPT (first_at), first_arm AS arm,
         greatest(first_at, {self.at(self._step_at)}) AS first_at
    FROM ({units})
   WHERE {IS_EXPOSED}"""
