"""Texts made of queries and of attacks by chance: none sees a row of another project or of a file.

Each is refused by name, or it is answered; a fault of the server would fail the test. The
statement that is sent consists of words of our own, whatever the text: its texts are bound.

Source: insights.md, section 10b.
"""

import re
from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from fanion.errors import Invalid
from fanion.insights.expressions.functions import AGGREGATES, FUNCTIONS, WINDOW_FUNCTIONS
from tests.insights.hogql.test_answers import ANSWERS
from tests.insights.hogql.test_documented import DOCUMENTED
from tests.insights.hogql.test_escapes import HARMLESS, REFUSED
from tests.support.sql import SECRET, Asker

ANSWERED: Final = (*ANSWERS, *HARMLESS, *DOCUMENTED)
TEXTS: Final = (*ANSWERED, *REFUSED)
_WORD: Final = re.compile(r"\s+|\w+|'(?:[^'\\]|\\.|'')*'|\"[^\"]*\"|`[^`]*`|.", re.DOTALL)
# Words that a query may have in place of others of their kind.
_ALIKE: Final = (
    ("events", "persons", "groups", "sessions", "cohorts"),
    ("event", "uuid", "distinct_id", "person_id", "timestamp", "created_at", "id", "key", "index"),
    ("properties.plan", "person.properties.email", "group_0.properties.name", "session.id"),
    ("count", "any", "max", "min", "uniq", "groupArray", "sum", "avg", "argMax", "topK"),
    ("toString", "lower", "length", "toStartOfDay", "toDate", "toFloat", "upper", "isNull", "hex"),
    ("and", "or"),
    ("=", "!=", "<", ">"),
    ("0", "1", "2", "7", "99999", "1.5"),
    ("asc", "desc"),
    ("left", "inner", "full", "right"),
)
# What makes a text dangerous, and what only makes it odd.
_WORDS: Final = (
    *("merge('.*', 'ev.*')", "file('/etc/hostname')"),
    *("url('http://127.0.0.1:9/', 'CSV', 'a Int8')", "system.tables", "default.events"),
    *("numbers(10)", "SETTINGS readonly = 0", "FORMAT JSON", "INTO OUTFILE '/tmp/x'"),
    *("project_id", "attributes", "person_overrides", "events_by_distinct_id", "/*", "*/"),
    *("--", "#", "'", '"', "`", "\\", "\\'", ";", "{", "}", "{filters}", "{v0: UInt64}"),
    *("\u2019", "\u02bc", "\uff07", "\u0000", "\u200b", "\u017f", "\U0001f600", "\ud800", "$"),
    *("$$", "(", ")", "[", "]", ",", ".", "*", "->", "::", "?", ":", "@", "=", "!=", "<=>"),
    *("||", "-", "%", "SELECT", "FROM", "WHERE", "UNION ALL", "WITH", "AS", "JOIN", "ON", "IN"),
    *("NOT", "NULL", "OR", "GLOBAL", "FINAL", "SAMPLE", "PREWHERE", "ARRAY JOIN", "LIMIT"),
    *("OFFSET", "BY", "OVER", "CASE", "END", "INTERVAL", "EXCEPT", "APPLY", "RECURSIVE"),
    *("QUALIFY", "WINDOW", "TOTALS", "COHORT 1", "events", "persons", "groups", "sessions"),
    *("cohorts", "t1", "c1", "a1", "x1", "properties", "0", "1", "1e400", "0x1"),
    *("99999999999999999999", "''", "sum(", "arrayMap(x -> ", "if(", "any("),
)  # fmt: skip


def mutated(chance: Random) -> str:
    """Return a text with a few changes, each of a word or of a character."""
    words = _WORD.findall(chance.choice(ANSWERED))
    if chance.random() < 0.5:
        return _alike(words, chance)
    if chance.random() < 0.3:
        words = _WORD.findall(chance.choice(TEXTS))
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        place = chance.randrange(len(words))
        change = chance.randrange(6)
        if change == 0:
            del words[place : place + chance.randint(1, 2)]
            words = words or ["select"]
        elif change == 1:
            words.insert(place, f" {chance.choice(_WORDS)} ")
        elif change == 2:
            words[place:place] = _part(chance)
        elif change == 3:
            words[place] = chance.choice(_WORDS)
        elif change == 4:
            other = chance.randrange(len(words))
            words[place], words[other] = words[other], words[place]
        else:
            words.insert(place, chance.choice(_WORDS)[:1])
    return "".join(words)


def _alike(words: list[str], chance: Random) -> str:
    """Return a text in which a few words are others of their kind, which often stays a query."""
    for _ in range(chance.randint(1, 3)):
        known = [
            (place, kind)
            for place, word in enumerate(words)
            for kind in _ALIKE
            if word.lower() in kind
        ]
        if known:
            place, kind = chance.choice(known)
            words[place] = chance.choice(kind)
    return "".join(words)


def _part(chance: Random) -> Sequence[str]:
    words = _WORD.findall(chance.choice(TEXTS))
    start = chance.randrange(len(words))
    return words[start : start + chance.randint(1, 12)]


async def answered(asker: Asker, seed: int, number: int) -> int:
    """Ask mutated texts, each once, and return how many were answered."""
    chance, answers, asked = Random(seed), 0, set[str]()
    for _ in range(number):
        text = mutated(chance)
        if text in asked:
            continue
        asked.add(text)
        try:
            answer = await asker.ask(text, values={"v": "x"})
        except Invalid as error:
            assert error.code in ("invalid_sql", "too_large", "invalid_input", "required"), text
            continue
        answers += 1
        shown = repr(answer["results"])
        assert SECRET not in shown, text
        assert "root:" not in shown, text
    return answers


async def test_mutated_texts_see_nothing_else(asker: Asker) -> None:
    assert await answered(asker, 37, 300) > 20


@pytest.mark.random
@pytest.mark.long("ten thousand texts, of which the event store answers some thousand")
@pytest.mark.parametrize("seed", range(10))
async def test_many_mutated_texts_see_nothing_else(asker: Asker, seed: int) -> None:
    assert await answered(asker, seed, 970) > 60


def test_no_function_reads_anything_but_its_values() -> None:
    known = {*AGGREGATES.values(), *FUNCTIONS.values(), *WINDOW_FUNCTIONS.values()}
    reading = re.compile(
        r"^(file|url$|dict|joinGet|sleep|getSetting|getMacro|getServerPort|current|host|version|uptime"
        r"|query_?id|server|filesystem|hasColumn|throwIf|catboost|evalML|initialize|finalize|runningAcc"
        r"|arrayReduce|cluster|remote|merge|zookeeper|show|ai|identity|ignore|block|rowNumber"
        r"|tcpPort|demangle|addressTo|buildId|fqdn|session|enabled|default|log_|transaction)",
        re.IGNORECASE,
    )  # fmt: skip

    assert [name for name in known if reading.match(name)] == []
    assert [name for name in known if re.search("(State|Merge)(If)?$", name)] == []
