"""Worked examples of answers as tables, where an answer over HTTP would need many events."""

from typing import Any

import pytest

from fanion.insights.tables.kinds import table_of
from fanion.insights.tables.model import csv_text, make_table, typed_lines


def test_paths_have_their_links_and_their_ends() -> None:
    """Ten paths begin at `/`: six go on to `/a_b`, one goes on to another step, three end."""
    answer = {
        "results": [
            {"source": "1_/", "target": "2_/a_b", "value": 6, "average_conversion_time": 1500.0}
        ],
        "nodes": [
            {"name": "1_/", "count": 10, "ended": 3},
            {"name": "2_/a_b", "count": 6, "ended": 6},
        ],
        "other_edges": [{"source": "1_/", "target": "2_…other", "value": 1}],
    }

    table = table_of("PathsQuery", answer)

    assert table.names == ["step", "source", "target", "count", "average_conversion_time"]
    assert table.rows == [
        (1, "/", "/a_b", 6, 1.5),
        (1, "/", None, 3, None),
        (1, "/", "…other", 1, None),
        (2, "/a_b", None, 6, None),
    ]


def test_what_goes_with_conversion() -> None:
    event = {"event": "seen", "properties": {}, "elements": []}
    found = {"event": event, "success_count": 3, "failure_count": 1, "odds_ratio": 6.0}

    table = table_of(
        "FunnelCorrelationQuery",
        {"results": {"events": [{**found, "correlation_type": "success"}], "skewed": False}},
    )

    assert table.rows == [["seen", 3, 1, 6.0, "success"]]


def test_funnels_of_a_breakdown_and_retention_of_one() -> None:
    steps: list[dict[str, Any]] = [
        {"name": "seen", "custom_name": "Visit", "count": 4, "breakdown": ["web"]},
        {"name": "paid", "custom_name": None, "count": 1, "breakdown": ["web"]},
    ]
    times = {"average_conversion_time": None, "median_conversion_time": None}
    row = {"label": "Week 0", "date": "2024-03-01T00:00:00Z", "breakdown": "pro"}

    funnels = table_of("FunnelsQuery", {"results": [[{**step, **times} for step in steps], []]})
    retention = table_of("RetentionQuery", {"results": [{**row, "values": [{"count": 2}]}]})

    assert [row[:7] for row in funnels.rows] == [
        ["web", 1, "Visit", 4, None, 100.0, None],
        ["web", 2, "paid", 1, 25.0, 25.0, 3],
    ]
    assert (retention.names, retention.rows) == (
        ["breakdown", "date", "Week 0"],
        [["pro", "2024-03-01T00:00:00Z", 2]],
    )


def test_a_step_is_compared_with_the_required_step_before_it() -> None:
    times = {"average_conversion_time": None, "median_conversion_time": None}
    counts = (("a", 10), ("b", 3), ("c", 5))
    steps = [{"name": name, "custom_name": None, "count": n, **times} for name, n in counts]

    table = table_of("FunnelsQuery", {"results": steps}, optional_steps=[1])

    assert [row[2:6] for row in table.rows] == [
        [10, None, 100.0, None],
        [3, 30.0, 30.0, 7],
        [5, 50.0, 50.0, 5],
    ]


def test_a_trend_by_weekday_and_hour_has_a_row_for_each() -> None:
    week = {"data": [{"row": 1, "column": 9, "value": 2.0}, {"row": 7, "column": 23, "value": 0.0}]}

    table = table_of("TrendsQuery", {"results": [{"label": "seen", "calendar_heatmap_data": week}]})

    assert table.names == ["weekday", "hour", "value"]
    assert table.rows == [(1, 9, 2.0), (7, 23, 0.0)]


def test_an_experiment_has_a_row_for_each_variant() -> None:
    control = {"key": "control", "sum": 6}
    results = {"baseline": control, "variant_results": [{"key": "test", "p_value": 0.1}]}
    days = {"days": ["2024-03-01"], "variant": "test", "exposure_counts": [5]}

    metric = table_of("ExperimentQuery", {"results": results})
    exposures = table_of("ExperimentExposureQuery", {"results": {"timeseries": [days]}})

    assert metric.names == ["key", "sum", "p_value"]
    assert metric.rows == [["control", 6, None], ["test", None, 0.1]]
    assert exposures.rows == [("2024-03-01", "test", 5)]


def test_web_tables_compare() -> None:
    names = ["context.columns.breakdown_value", "context.columns.visitors"]

    table = table_of("WebStatsTableQuery", {"columns": names, "results": [[None, [1, 2]]]})

    assert (table.names, table.rows) == (
        ["breakdown_value", "visitors", "visitors_previous"],
        [[None, 1, 2]],
    )


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, '""'),
        ("=1+1", "'=1+1"),
        ("\t", "'\t"),
        (-5, "-5"),
        (2.0, "2"),
        (0.25, "0.25"),
        (True, "true"),
        (["=1"], '"[""=1""]"'),
        ("a,b", '"a,b"'),
    ],
)
def test_cells(value: Any, cell: str) -> None:
    """A text that a spreadsheet would calculate begins with a quote; a number stays one."""
    table = make_table(["=name"], [[value]])

    assert csv_text(table).decode().splitlines() == ["'=name", cell]


def test_columns_have_different_names_and_types_by_their_values() -> None:
    rows: list[list[Any]] = [[1, 1, True, "a", None], [None, 2.5, False, 1, None]]

    table = make_table(["a", "a", "", "a (2)", "b`\\"], rows)

    assert table.names == ["a", "a (2)", "column 3", "a (2) (2)", "b`\\"]
    schema, lines = typed_lines(table)
    assert schema == (
        "`a` Nullable(Int64), `a (2)` Nullable(Float64), `column 3` Nullable(Bool), "
        "`a (2) (2)` Nullable(String), `b\\`\\\\` Nullable(String)"
    )
    assert lines.splitlines()[1].startswith(
        b'{"a":null,"a (2)":2.5,"column 3":false,"a (2) (2)":"1"'
    )


def test_funnels_of_two_ranges_are_told_apart() -> None:
    times = {"average_conversion_time": None, "median_conversion_time": None}
    counts = (("current", "a", 4), ("current", "b", 1), ("previous", "a", 2), ("previous", "b", 1))
    steps = [
        {"name": name, "custom_name": None, "count": n, "compare_label": label, **times}
        for label, name, n in counts
    ]
    converted = [
        {"bins": [[60, 2], [330, 0]], "breakdown": ["pro"], "compare_label": label}
        for label in ("current", "previous")
    ]

    table = table_of("FunnelsQuery", {"results": steps})
    distributions = table_of("FunnelsQuery", {"results": converted})

    assert [row[:5] for row in table.rows] == [
        ["current", 1, "a", 4, None],
        ["current", 2, "b", 1, 25.0],
        ["previous", 1, "a", 2, None],
        ["previous", 2, "b", 1, 50.0],
    ]
    assert distributions.names == [
        *("breakdown", "compare_label", "from_seconds", "to_seconds", "count"),
    ]
    assert distributions.rows[0] == ["pro", "current", 60, 330, 2]
    assert len(distributions.rows) == 4
