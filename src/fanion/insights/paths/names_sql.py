"""The names of steps of paths: what names an event, its hash, and all names of a question.

Source: insights.md, section 9.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.parsing.path_cleaning import Cleaning
from fanion.insights.paths.query import PathsQuery
from fanion.insights.sql.compiler import Compiler

# Characters of a name, which every cleaning rule could make longer.
NAME_CHARS_MAX: Final = 2_000
# Stands between both ends of a path that is longer than what is shown, as in PostHog.
BETWEEN: Final = "..."


@dataclass(frozen=True, slots=True)
class _Named:
    """The events that get their names in one way.

    Attributes:
        event: The name of these events, None for all that no other kind is about.
        condition: The condition on a row.
        cleaned: The column of the step's name after the cleaning rules.
    """

    event: str | None
    condition: str
    cleaned: str


_PAGE: Final = _Named("$pageview", "event = '$pageview'", "page_name")
_SCREEN: Final = _Named("$screen", "event = '$screen'", "screen_name")
_OTHER: Final = _Named(None, f"NOT ({_PAGE.condition} OR {_SCREEN.condition})", "other_name")

# The hashes of the names, the names, and their order. They may be of more events than those of the
# question.
NAMES = """(
  SELECT (groupArray(number), groupArray(name), arrayEnumerate(groupArray(number)))
    FROM (SELECT {number} AS number, any(text) AS name
            FROM (SELECT {between} AS text{names})
        GROUP BY number
        ORDER BY name))"""
NAMES_OF_EVENTS = """
             UNION ALL
                  SELECT {name} AS text
                    FROM (SELECT {cleaned} AS cleaned
                            FROM (SELECT {own} AS own
                                    FROM events
                                   WHERE {where}
                                GROUP BY own))
                GROUP BY text"""


class StepNames:
    """The SQL of the names of a question's steps.

    Args:
        cleaning: The rules of the project, then those of the question.

    Attributes:
        columns: The names of a row of `events` after the cleaning rules, as columns.
        number: An expression of these columns for the hash of the row's name.
        checks: Conditions on a row, without which the columns may be wrong.
    """

    def __init__(self, compiler: Compiler, query: PathsQuery, cleaning: Sequence[Cleaning]) -> None:
        self._compiler, self._query, self._cleaning = compiler, query, cleaning
        self._kinds = _kinds(query)
        owns = [(kind, *_own_and_check(compiler, kind)) for kind in self._kinds]
        self.columns = ",\n       ".join(
            f"{self._cleaned(_text(kind, own))} AS {kind.cleaned}" for kind, own, _ in owns
        )
        self.number = self._number_of_row()
        self.checks = [check for _, _, check in owns if check]

    def all_within(self, span: DateRange) -> str:
        """Return SQL for all names in a range in their order, as arrays: see NAMES."""
        bind = self._compiler.bindings
        within = f"timestamp >= {bind.time(span.start)} AND timestamp < {bind.time(span.end)}"
        names = "".join(self._of_events(kind, within) for kind in self._kinds)
        number, between = number_of(self._compiler, "text"), bind.text(BETWEEN)
        return NAMES.format(number=number, between=between, names=names)

    def _number_of_row(self) -> str:
        numbers = [number_of(self._compiler, self._grouped(kind.cleaned)) for kind in self._kinds]
        if len(numbers) == 1:
            return numbers[0]
        cases = zip(self._kinds, numbers[:-1], strict=False)
        tests = "".join(f"{kind.condition}, {number}, " for kind, number in cases)
        return f"multiIf({tests}{numbers[-1]})"

    def _of_events(self, kind: _Named, within: str) -> str:
        """Return the distinct names of the events of a kind."""
        own, check = _own_and_check(self._compiler, kind)
        conditions = (self._compiler.project, within, kind.condition, check)
        return NAMES_OF_EVENTS.format(
            name=f"CAST({self._grouped('cleaned')} AS String)",
            cleaned=self._cleaned(_text(kind, "own")),
            own=own,
            where=" AND ".join(filter(None, conditions)),
        )

    def _cleaned(self, name: str) -> str:
        """Return SQL for a name after the cleaning rules, applied in order.

        If names are cleaned or grouped, they have low cardinality, so that this is computed once
        for each distinct name of a block.
        """
        if not self._cleaning and not self._query.groupings:
            return name
        bind = self._compiler.bindings
        name = f"CAST({name} AS LowCardinality(String))"
        for rule in self._cleaning:
            # For an expression that is plain text, the engine would not replace groups in the
            # alias.
            regex, alias = bind.text(f"(?:{rule.regex})"), bind.text(rule.alias)
            name = f"leftUTF8(replaceRegexpAll({name}, {regex}, {alias}), {NAME_CHARS_MAX})"
        return name

    def _grouped(self, name: str) -> str:
        """Return SQL for the first pattern that is found in the name, or else the name."""
        patterns, bind = self._query.groupings, self._compiler.bindings
        if not patterns:
            return name
        cases = "".join(
            f"{name} LIKE {bind.text(_like(pattern))}, {bind.text(pattern)}, "
            for pattern in patterns
        )
        return f"multiIf({cases}CAST({name} AS String))"


def number_of(compiler: Compiler, name: str) -> str:
    """Return SQL for the hash of a name.

    The key is different for each calculation, so that clients cannot send names with equal hashes.
    """
    run = compiler.context.run.int
    halves = (compiler.bindings.add(half, "UInt64") for half in divmod(run, 2**64))
    return f"sipHash64Keyed(({', '.join(halves)}), {name})"


def numbers_of(compiler: Compiler, names: Sequence[str]) -> str:
    """Return SQL for the hashes of names."""
    return f"arrayMap(one -> {number_of(compiler, 'one')}, {compiler.bindings.texts(names)})"


def _kinds(query: PathsQuery) -> Sequence[_Named]:
    """Return the kinds of the events that a question is about."""
    wanted = {*query.event_types, *query.events}
    kinds = [kind for kind in (_PAGE, _SCREEN) if not wanted or kind.event in wanted]
    has_others = not wanted or wanted - {_PAGE.event, _SCREEN.event}
    return [*kinds, _OTHER] if has_others else kinds


def _own_and_check(compiler: Compiler, kind: _Named) -> tuple[str, str]:
    """Return SQL for what an event itself is named by.

    It is only correct in statements with the condition that is returned too, '' for none.
    """
    if kind is _PAGE:
        return compiler.text_and_check("$current_url")
    return ("event" if kind is _OTHER else compiler.text("$screen_name")), ""


def _text(kind: _Named, own: str) -> str:
    """Return SQL for the name of a step before the cleaning rules."""
    return f"replaceRegexpOne({own}, '(.)/$', '\\\\1')" if kind is _PAGE else own


def _like(pattern: str) -> str:
    for special in "\\%_":
        pattern = pattern.replace(special, f"\\{special}")
    return f"%{pattern.replace('*', '%')}%"
