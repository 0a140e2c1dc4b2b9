"""SQL for the values of a breakdown.

Properties of the event, of its session and of the group that it names (with their current value),
and expressions in SQL, become columns of the rows of `events`. A property of the person, and its
cohorts, belong to the person as it is now: their values are added to rows that name the person in
`actor`, once persons are resolved. Other types are refused while the question is read
(`BreakdownType` of insights/breakdowns.py).

Source: insights.md, sections 2e and 4e.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from fanion.insights.breakdowns import Breakdown, Breakdowns, BreakdownType
from fanion.insights.sql.compiler import NONE, OTHER, Compiler

EVENT_BREAKDOWNS: Final[frozenset[BreakdownType]] = frozenset(
    {"event", "group", "session", "hogql"}
)
ACTOR_BREAKDOWNS: Final[frozenset[BreakdownType]] = frozenset({"person", "cohort"})
# Added to the last border, so that the greatest value falls into the last bin.
_BEYOND = 0.01


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of a histogram.

    Attributes:
        borders: Ascending, one more than there are bins; empty when no value is a number.
    """

    borders: tuple[float, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the breakdown value of each bin, such as `[10,17.5]`."""
        texts = [_whole(border) for border in self.borders]
        return tuple(f"[{low},{high}]" for low, high in pairwise(texts))


def equal_bins(least: float, greatest: float, count: int) -> Bins:
    """Return bins of equal width from the least to the greatest value.

    Source: insights.md, section 4e.
    """
    if least == greatest:
        return Bins((least, greatest + _BEYOND))
    width = (greatest - least) / count
    inner = [round(least + width * number, 10) for number in range(1, count)]
    borders = (least, *inner, greatest + _BEYOND)
    return Bins(tuple(sorted(set(borders))))


def _whole(number: float) -> str:
    return f"{round(number, 10):.10f}".rstrip("0").rstrip(".") or "0"


class BreakdownSql:
    """The SQL of a breakdown within one statement.

    Args:
        breakdowns: None for no breakdown; the value is then empty.
        bins: The bins of the parts that are histograms, by the index of the part.
    """

    def __init__(
        self,
        compiler: Compiler,
        breakdowns: Breakdowns | None,
        bins: Mapping[int, Bins] | None = None,
    ) -> None:
        self.compiler = compiler
        self.bins = bins or {}
        self.parts: Sequence[Breakdown] = breakdowns.parts if breakdowns else ()

    @property
    def needs_person(self) -> bool:
        """Return whether `joins` and `value` read persons from the column `actor`."""
        return any(part.type in ACTOR_BREAKDOWNS for part in self.parts)

    def event_columns(self) -> dict[str, str]:
        """Return columns for the parts that belong to the event: names and expressions."""
        return {
            _column(index): self._shown(index, self.compiler.own_text(part))
            for index, part in enumerate(self.parts)
            if part.type in EVENT_BREAKDOWNS
        }

    def joins(self) -> str:
        """Return the joins to write after the rows that have `actor`."""
        return "\n".join(
            self._held(index, part)
            for index, part in enumerate(self.parts)
            if part.type == "person"
        )

    def value(self) -> str:
        """Return the expression of the breakdown value: text, empty without a breakdown.

        It reads rows that have the columns of `event_columns` and the joins. The values of several
        parts become one JSON list. A person in several of the cohorts has one row for each.
        """
        values = self._values()
        if len(values) > 1:
            return f"toJSONString([{', '.join(values)}])"
        return values[0] if values else "''"

    def _values(self) -> list[str]:
        values, are_cohorts_in = [], False
        for index, part in enumerate(self.parts):
            if part.type == "cohort":
                values += [] if are_cohorts_in else [self._cohorts()]
                are_cohorts_in = True
            elif part.type == "person":
                values.append(self._shown(index, f"held_{index}.text"))
            else:
                values.append(_column(index))
        return values

    def _held(self, index: int, breakdown: Breakdown) -> str:
        """Return the join that adds a person property as text, empty for persons without a row."""
        compiler = self.compiler
        held = (
            f"SELECT person_id, {compiler.text_of_person(breakdown.key)} AS text "
            f"FROM persons FINAL WHERE {compiler.project}"
        )
        return f"LEFT ANY JOIN ({held}) AS held_{index} ON held_{index}.person_id = actor"

    def _cohorts(self) -> str:
        """Return an expression with one row for each of the cohorts that the person is in."""
        compiler, cases = self.compiler, []
        for key in dict.fromkeys(part.key for part in self.parts if part.type == "cohort"):
            name = compiler.bindings.text(key)
            cases.append(name if key == "all" else self._if_member(int(key), name))
        return f"arrayJoin(arrayFilter(one -> one != '', [{', '.join(cases)}]))"

    def _if_member(self, cohort_id: int, name: str) -> str:
        bind = self.compiler.bindings
        run, cohort = bind.add(self.compiler.context.run, "UUID"), bind.add(cohort_id, "UInt64")
        members = f"SELECT person_id FROM cohort_inputs WHERE run = {run} AND cohort_id = {cohort}"
        return f"if(actor IN ({members}), {name}, '')"

    def _shown(self, index: int, text: str) -> str:
        breakdown, none = self.parts[index], self.compiler.bindings.text(NONE)
        if index in self.bins:
            return self._bin(self.bins[index], text, none)
        if breakdown.normalize_url:
            text = normalized_url(text)
        return f"ifNull(nullIf({text}, ''), {none})"

    def _bin(self, bins: Bins, text: str, none: str) -> str:
        if not bins.borders:
            return none
        bind, number = self.compiler.bindings, self.compiler.number_of(text)
        lowest = bind.add(list(bins.borders[:-1]), "Array(Float64)")
        places = bind.add(list(range(len(bins.labels))), "Array(Float64)")
        position = f"transform(roundDown(ifNull({number}, 0), {lowest}), {lowest}, {places}, 0)"
        label = f"arrayElement({bind.texts(bins.labels)}, toUInt32({position}) + 1)"
        return f"if(isNotNull({number}), {label}, {none})"


def normalized_url(text: str) -> str:
    """Return SQL that removes trailing `?`, `#` and `/`; text of nothing else becomes `/`."""
    cut = f"replaceRegexpOne({text}, '[/?#]+$', '')"
    return f"if({cut} = '' AND {text} != '', '/', {cut})"


def with_other_values(compiler: Compiler, value: str, values: Sequence[str] | None) -> str:
    """Return SQL that replaces values other than `values` with OTHER.

    Args:
        values: The values to keep; None keeps all.
    """
    if values is None:
        return value
    bind = compiler.bindings
    return f"if({value} IN {bind.texts(values)}, {value}, {bind.text(OTHER)})"


def _column(index: int) -> str:
    return f"part_{index}"
