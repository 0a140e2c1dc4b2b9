"""The units of an experiment: persons or groups that were exposed, with their variant and events.

Exposures and the events of a metric are read together and collected by unit, so there is one pass
over `events` and no join of exposures with events. They are grouped by the stored person first, so
that the join with merged persons reads persons, not events.

Times are microseconds since the start of the range that is read plus one, so that 0 is never a
time. An event of a metric is `(at, number, id)`. The id joins copies of an event with different
keys; it is 0 where nothing needs it.

Source: experiments.md, sections 2 and 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fanion.experiments.calculation.question import ExperimentQuestion
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sql.compiler import Compiler, names_of
from fanion.properties.bindings import micros

# Numbers of arms: those of variants begin with 1.
MULTIPLE: Final = 0
_NOT_EXPOSED: Final = 0
_HELD_OUT: Final = 254
_WITHOUT_VARIANT: Final = 255
# The condition that a unit has an arm.
IS_EXPOSED: Final = "highest_arm != 0"
HOLDOUT_PREFIX: Final = "holdout-"
# The most events that are read of one unit; the answer says if a unit has more.
UNIT_EVENTS_MAX: Final = 10_000

_ROWS = """
  SELECT {who} AS who,
         toUnixTimestamp64Micro(timestamp) - {origin} AS at,
         toUInt128(uuid) AS id,
         toUInt8(if({is_call}, {arm}, {not_exposed})) AS arm{columns}
    FROM {events}
   WHERE {where}
     AND ({wanted})
"""
# An exposure is one number of its time, the id of its event and its arm, in this order. The engine
# keeps the smallest number in less than half of the time that the smallest tuple takes.
_EXPOSURE = "bitOr(bitShiftLeft(toUInt256(at), 136), bitShiftLeft(toUInt256(id), 8)) + arm"
_TIME_OF = "toInt64(bitShiftRight({exposure}, 136))"
_ARM_OF = "toUInt8(bitAnd({exposure}, 255))"
_GROUPED = """
  SELECT who,
         minIf(arm, {in_phase}) AS low,
         maxIf(arm, {in_phase}) AS high,
         minIf({exposure}, {in_phase}) AS entry,
         max({is_arm} AND at < {phase}) AS is_earlier,
         max(arm = {held_out}) AS is_held_out{collected}
    FROM ({rows})
GROUP BY who
"""
_UNITS = """
  SELECT actor,
         minIf(low, high != 0) AS lowest_arm,
         max(high) AS highest_arm,
         {first_arm} AS first_arm,
         {first_at} AS first_at,
         max(is_earlier) AS was_earlier,
         max(is_held_out) AS was_held_out{merged}
    FROM ({resolved})
GROUP BY actor
"""


@dataclass(frozen=True, slots=True)
class Collected:
    """Events that are collected by unit.

    Attributes:
        condition: Whether a row is one of them.
        number: What is counted of it.
        needs_id: Whether the id is needed however copies are joined.
    """

    condition: str
    number: str
    needs_id: bool = False


class UnitsSql:
    """The SQL of the units of one statement.

    Args:
        reach: The range of events to read.
        now: The time of the answer.
    """

    def __init__(
        self, compiler: Compiler, question: ExperimentQuestion, reach: DateRange, now: datetime
    ) -> None:
        self.compiler = compiler
        self.window = question.window
        self.exposures = question.exposures
        self.measured = question.measured
        self.reach = reach
        self.now = now
        self._origin = micros(reach.start) - 1

    def at(self, moment: datetime) -> str:
        """Return the bound time of an instant, on the scale of `at`."""
        return self.compiler.bindings.add(micros(moment) - self._origin, "Int64")

    @property
    def origin(self) -> str:
        return self.compiler.bindings.add(self._origin, "Int64")

    @property
    def until(self) -> str:
        """Return the last instant at which a unit can be exposed."""
        return self.at(self.window.until(self.now))

    def units(self, collected: Sequence[Collected], *, with_held_out: bool = False) -> str:
        """Return rows of units, with their first exposure and their events as `done_0` and so on.

        The arms that they saw lie between `lowest_arm` and `highest_arm`, which are 0 for none.

        Args:
            collected: The events to collect.
            with_held_out: Whether units of the holdout are read too.
        """
        names = [f"done_{number}" for number in range(len(collected))]
        grouped = self._grouped(collected, self._rows(collected, with_held_out))
        columns = ["low", "high", "entry", "is_earlier", "is_held_out"]
        first = "minIf(entry, high != 0)"
        own = [f"own_{name}" for name in names]
        merged = "".join(
            f",\n         {self._joined(part, name)} AS {name}"
            for part, name in zip(collected, names, strict=True)
        )
        return _UNITS.format(
            first_arm=_ARM_OF.format(exposure=first),
            first_at=_TIME_OF.format(exposure=first),
            merged=merged,
            resolved=self.compiler.resolved(grouped, [*columns, *own]),
        )

    def _rows(self, collected: Sequence[Collected], with_held_out: bool) -> str:
        compiler = self.compiler
        columns = "".join(
            f",\n         {part.condition} AS is_{number}, {part.number} AS number_{number}"
            for number, part in enumerate(collected)
        )
        exposes = "arm != 0" if with_held_out else self._is_arm
        wanted = [exposes, *(f"is_{number}" for number in range(len(collected)))]
        return _ROWS.format(
            who=compiler.who(),
            origin=self.origin,
            is_call=self.is_call(),
            arm=self._arm(),
            not_exposed=_NOT_EXPOSED,
            columns=columns,
            events=compiler.once.events,
            where="\n     AND ".join([compiler.where(self.reach, None), *self._named()]),
            wanted=" OR ".join(wanted),
        )

    def _named(self) -> Sequence[str]:
        """Return the condition on the names of events, which come first in the table's order."""
        names = names_of([*self.exposures, *self.measured])
        return [] if names is None else [f"event IN {self.compiler.bindings.texts(names)}"]

    def is_call(self) -> str:
        """Return the condition that a row can expose, whatever the flag answered."""
        compiler, window = self.compiler, self.window
        bind = compiler.bindings
        any_of = " OR ".join(compiler.entity(entity) for entity in self.exposures)
        conditions = [
            f"({any_of})",
            f"timestamp >= {bind.time(window.started_at)}",
            f"timestamp <= {bind.time(window.until(self.now))}",
        ]
        if window.criteria.entity is None and window.population is None:
            conditions.append(f"{compiler.text('$feature_flag')} = {bind.text(window.flag_key)}")
        if window.accounts is not None:
            conditions.append(compiler.condition(window.accounts))
        return f"({' AND '.join(conditions)})"

    def value(self) -> str:
        """Return SQL for what the flag answered, as text."""
        criteria, key = self.window.criteria, self.window.flag_key
        name = "$feature_flag_response" if criteria.entity is None else f"$feature/{key}"
        return self.compiler.text(name)

    def _arm(self) -> str:
        if self.window.population is not None:
            return "1"
        bind, keys = self.compiler.bindings, self.window.variants
        numbers = bind.add(list(range(1, len(keys) + 1)), "Array(UInt8)")
        value = self.value()
        held = f"startsWith({value}, {bind.text(HOLDOUT_PREFIX)})"
        other = f"if({held}, {_HELD_OUT}, {_WITHOUT_VARIANT})"
        return f"transform({value}, {bind.texts(keys)}, {numbers}, toUInt8({other}))"

    def is_without_variant(self) -> str:
        """Return the condition that a row is a call of the flag without a variant."""
        return f"{self.is_call()} AND {self._arm()} = {_WITHOUT_VARIANT}"

    @property
    def _is_arm(self) -> str:
        return f"(arm BETWEEN 1 AND {len(self.window.variants)})"

    def _grouped(self, collected: Sequence[Collected], rows: str) -> str:
        phase = self.at(self.window.phase_at)
        parts = "".join(
            f",\n         groupArrayIf({UNIT_EVENTS_MAX})"
            f"((at, number_{number}, {self._id(part)}), is_{number}) AS own_done_{number}"
            for number, part in enumerate(collected)
        )
        return _GROUPED.format(
            exposure=_EXPOSURE,
            in_phase=f"{self._is_arm} AND at >= {phase}",
            is_arm=self._is_arm,
            phase=phase,
            held_out=_HELD_OUT,
            collected=parts,
            rows=rows,
        )

    def _id(self, part: Collected) -> str:
        return "id" if part.needs_id or not self.compiler.once.by_key else "toUInt8(0)"

    def _joined(self, part: Collected, name: str) -> str:
        """Return SQL for the events of a unit, each once."""
        joined = f"groupArrayArray({UNIT_EVENTS_MAX})(own_{name})"
        if self.compiler.once.by_key:
            return joined
        return f"arrayCompact(one -> one.3, arraySort(one -> (one.3, one.1), {joined}))"

    @property
    def several(self) -> str:
        """Return the condition that a unit saw several variants, so that it has no arm."""
        keeps_first = self.window.criteria.multiple_variants == "first_seen"
        return "0" if keeps_first else "lowest_arm != highest_arm"

    def counted(self, units: str) -> str:
        """Return the rows of units that are in an arm, with its number as `arm`.

        A unit that saw several variants has the first one where the criteria say so, else
        MULTIPLE. Units that were exposed before the phase are left out.
        """
        return f"""
  SELECT *, if({self.several}, {MULTIPLE}, first_arm) AS arm
    FROM ({units})
   WHERE {IS_EXPOSED} AND NOT was_earlier"""
