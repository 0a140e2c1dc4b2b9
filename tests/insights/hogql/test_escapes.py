"""SQL must not reach another project, a file, the network, or the tables of the engine.

Source: insights.md, section 10b.
"""

import pytest

from fanion.insights.expressions.grammar import TEXT_BYTES_MAX, TOKENS_MAX
from tests.support.sql import SECRET, Asker

# Each with a part of the sentence that refuses it.
REFUSED: dict[str, str] = {
    # Tables that are not the project's.
    "select * from merge('.*', 'ev.*')": "Only tables",
    "select * from merge(currentDatabase(), 'events')": "Only tables",
    "select * from file('/etc/passwd', 'CSV', 'a String')": "Only tables",
    "select * from url('http://127.0.0.1/', 'CSV', 'a String')": "Only tables",
    "select * from s3('http://127.0.0.1/x')": "Only tables",
    "select * from remote('127.0.0.1', 'default', 'events')": "Only tables",
    "select * from mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')": "Only tables",
    "select * from postgresql('127.0.0.1:1', 'a', 'b', 'c', 'd')": "Only tables",
    "select * from sqlite('/tmp/x', 'y')": "Only tables",
    "select * from executable('id', 'CSV', 'a String')": "Only tables",
    "select * from numbers(1e12)": "Only tables",
    "select * from generateRandom('a Int8')": "Only tables",
    "select * from cluster('default', default.events)": "Only tables",
    "select * from clusterAllReplicas('default', 'system', 'one')": "Only tables",
    "select * from dictionary('x')": "not supported",
    "select * from view(select 1)": "Only tables",
    "select * from input('a Int8')": "Only tables",
    "select * from values('a Int8', 1)": "not supported",
    "select * from loop(events)": "Only tables",
    "select * from `file`('/etc/passwd')": "Only tables",
    "select * from system.tables": 'no table "system.tables"',
    "select * from `system`.`query_log`": "no table",
    "select * from default.events": 'no table "default.events"',
    "select * from information_schema.tables": "no table",
    "select * from `system.tables`": "no table",
    "select * from `events FINAL WHERE 1 --`": "no table",
    "select * from '/etc/passwd'": "no table",
    "select * from events_by_distinct_id": "no table",
    "select * from person_overrides": "no table",
    "select * from session_rows": "no table",
    "select * from cohort_inputs": "no table",
    "select * from EVENTS": "no table",
    "select * from еvents": "no table",
    "select * from events\u200b": "no table",
    "select * from event\u017f": "no table",
    "select 1 from events join system.one on 1": "no table",
    "select (select count() from system.tables)": "no table",
    "select 1 where 1 in (select 1 from system.tables)": "no table",
    "select 1 where 1 in system.tables": "no column",
    "select 1 where 1 global in default.events": "GLOBAL",
    "with x as (select * from system.tables) select * from x": "no table",
    "with x as (with y as (select * from merge('', '')) select * from y) select * from x": "Only",
    "select 1 union all select count() from system.tables": "no table",
    "select * from (select * from (select * from system.one))": "no table",
    "with recursive x as (select 1 union all select * from x) select * from x": "RECURSIVE",
    "with x as (select * from x) select * from x": "no table",
    # Functions that read more than their values.
    "select file('/etc/hostname')": 'function "file"',
    "select `file`('/etc/hostname')": 'function "file"',
    "select FILE('/etc/hostname')": 'function "FILE"',
    "select dictGet('x', 'y', 1)": "function",
    "select joinGet('x', 'y', 1)": "function",
    "select getSetting('max_threads')": "function",
    "select getMacro('x')": "function",
    "select getServerSetting('x')": "function",
    "select currentUser()": "function",
    "select currentDatabase()": "function",
    "select hostName()": "function",
    "select version()": "function",
    "select queryID()": "function",
    "select sleep(3)": "function",
    "select sleepEachRow(1)": "function",
    "select throwIf(1)": "function",
    "select catboostEvaluate('x', 1)": "function",
    "select initializeAggregation('sum', 1)": "function",
    "select arrayReduce('sum', [1])": "function",
    "select evalMLMethod(1)": "function",
    "select filesystemAvailable()": "function",
    "select showCertificate()": "function",
    "select hasColumnInTable('system', 'one', 'dummy')": "function",
    "select aiGenerate('x')": "function",
    "select base64Decode(file('/etc/passwd'))": 'function "file"',
    "select arrayMap(x -> file(x), ['/etc/passwd'])": 'function "file"',
    "select sumState(1)": "function",
    "select finalizeAggregation(sumState(1))": "function",
    "select quantile(file('/etc/passwd'))(1)": "must be numbers",
    "select quantile((select 1))(1)": "must be numbers",
    "select sum(1) over (order by file('/etc/passwd'))": 'function "file"',
    # Clauses that change what is run, and where it goes.
    "select 1 settings max_threads = 1": "SETTINGS",
    "select * from events settings additional_table_filters = {}": "cannot be read",
    "select * from (select * from events settings readonly = 0)": "SETTINGS",
    "select 1 union all select 1 settings readonly = 0": "SETTINGS",
    "select 1 format JSON": "FORMAT",
    "select 1 into outfile '/tmp/x'": "cannot be read",
    "select 1 into outfile '/tmp/x' format CSV": "cannot be read",
    "select * from events final": "FINAL",
    "select * from events sample 0.1": "SAMPLE",
    "select * from events array join [1, 2] as x": "not supported",
    "select * from events prewhere project_id = 1": "PREWHERE",
    "select 1 from events group by event with totals": "TOTALS",
    "select 1 from events qualify 1": "QUALIFY",
    "select * apply(file) from events": "not supported",
    "select columns('.*') from events": "function",
    "select * except (event) from events": "EXCEPT",
    "select * replace (1 as event) from events": "REPLACE",
    "select * from events as e (a, b)": "COLUMNS",
    "select 1 except select 1": "one SELECT",
    "select 1 intersect select 1": "one SELECT",
    "explain select 1": "one SELECT",
    "show tables": "one SELECT",
    "describe events": "one SELECT",
    "system flush logs": "one SELECT",
    "create table x (a Int8)": "one SELECT",
    "set readonly = 0": "one SELECT",
    "insert into events select 1": "one SELECT",
    "kill query where 1": "one SELECT",
    "use system": "one SELECT",
    "optimize table events": "one SELECT",
    "attach table x": "one SELECT",
    "grant all on *.* to x": "one SELECT",
    "with x as (select 1) insert into events select 1": "",
    # Names and values that stand for something else.
    "select project_id from events": "no column",
    "select t1.project_id from events": "no column",
    "select e.project_id from events e": "no column",
    "select `project_id` from persons": "no column",
    "select attributes from events": "no column",
    "select events.attributes.plan from events": "no column",
    "select person_overrides.new_person from events": "no column",
    "select _part from events": "no column",
    "select _table from events": "no column",
    "select c1 from events": "no column",
    "select t1.c1 from events": "no column",
    "select {v0: UInt64}": "cannot be read",
    "select {v0}": "no value",
    "select * from {events: Identifier}": "cannot be read",
    "select * from {events}": "Only tables",
    "select @@version": "",
    "select ?": "not complete",
    "select :x": "",
    "select $1": "no column",
    "select $$a$$": "no column",
    "select x'4142'": "cannot be read",
    "select 0x41": "not supported",
    "select 1 as \"a`b\" from `events` where `a\"b` = 1": "no column",
    "select cast(1 as Object('json'))": "cannot be read",
    "select cast(1 as AggregateFunction(sum, Int8))": "cast",
    "select cast('x' as Enum8('x' = 1))": "cast",
    "select 1::Array(Int8)": "cast",
    "select interval file('/etc/passwd') day": 'function "file"',
    "select 1 limit (select 1)": "LIMIT must be",
    "select 1 limit file('/etc/passwd')": "LIMIT must be",
    "select 1 offset -1": "OFFSET must be",
    "select 1 from events order by event with fill": "FILL",
    "select 1 from events order by event collate 'en'": "",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
async def test_an_escape_is_refused_before_anything_runs(asker: Asker, text: str) -> None:
    error = await asker.refusal(text)

    assert REFUSED[text] in error.detail
    assert error.code == "invalid_sql"
    assert error.attr == "query__query"


# What is allowed, and only sees rows of the project.
HARMLESS = (
    "select interval '1 day; drop' day",
    "select * from events",
    "select event, person.properties.email, group_0.properties.name from events",
    "select * from events where 1 = 1 or 1 = 1) or (1 = 1",
    "select * from events where event = 'x' or '1' = '1'",
    "select * from events e, persons p, groups g, sessions s",
    "select * from events union all select * from events",
    "select * from persons",
    "select * from groups",
    "select * from sessions",
    "select * from cohorts",
    "with x as (select * from events), y as (select * from x) select * from y, x",
    "select * from events a full join events b on 1 = 1",
    "select groupArray(properties), groupArray(event) from events",
    "select person_id in (select id from persons) from events",
    "select session.$entry_current_url, session.$session_duration from events",
    "select arrayMap(event -> event, ['a']), event from events",
    "select /* settings readonly = 0 */ event from events -- into outfile 'x'",
    "select 'x'' from system.tables --', event from events",
    "select '\\' from system.tables --', event from events",
    "select `event`, \"event\", properties['x'' from system.tables --'] from events",
    "select properties.`a'b`, properties.`a\\`b`, properties['a\"b'] from events",
    'select event as `); drop table events; --`, event as "\'" from events',
    "select max(event) from events having 1 or 1",
    "select * from events where {filters} or 1",
)


@pytest.mark.parametrize("text", HARMLESS)
async def test_only_rows_of_the_project_are_seen(asker: Asker, text: str) -> None:
    try:
        answer = await asker.ask(text, filters={"dateRange": {"date_from": "all"}})
    except Exception as error:
        assert type(error).__name__ == "Invalid", error
        assert SECRET not in str(error)
    else:
        assert SECRET not in repr(answer)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("select " + "(" * 60 + "1" + ")" * 60, "50 levels"),
        ("select " + "[" * 51 + "]" * 51, "50 levels"),
        ("select " + "case when 1 then " * 51 + "1" + " end" * 51, "50 levels"),
        ("select " + "not " * 2_000 + "1", "50 levels"),
        ("select " + "- " * 2_000 + "1", "50 levels"),
        ("select " + "1 + " * 2_400 + "1", "50 levels"),
        ("select " + "x -> " * 2_000 + "1", ""),
        ("select " + "a ? " * 1_000 + "1" + " : 1" * 1_000, ""),
        ("select * from " + "(select * from " * 49 + "events" + ")" * 49, ""),
        ("select 1" + " union all select 1" * 60, "50 SELECTs"),
        ("select " + "1, " * TOKENS_MAX + "1", f"{TOKENS_MAX} words"),
        ("select '" + "x" * TEXT_BYTES_MAX + "'", "longer than 64 KiB"),
        (
            "with "
            + ", ".join(
                f"a{n} as (select * from a{n - 1} x, a{n - 1} y)" if n else "a0 as (select 1)"
                for n in range(30)
            )
            + " select * from a29",
            "50 SELECTs",
        ),
        ("select " + "=".join(["1"] * 40), ""),
        ("select " + "(" * 40 + "1" + " between 1 and 2)" * 40, "written out"),
        ("select " + "case " * 40 + "1" + " when 1 then 1 when 2 then 2 end" * 40, "written out"),
        (f"select {', '.join(f'properties.x{n}' for n in range(101))} from events", "properties."),
    ],
    ids=range(17),
)
async def test_a_text_that_is_deep_or_long_ends_soon(asker: Asker, text: str, says: str) -> None:
    try:
        await asker.ask(text)
    except Exception as error:
        assert type(error).__name__ == "Invalid", error
        assert says in str(error)
    else:
        assert not says
