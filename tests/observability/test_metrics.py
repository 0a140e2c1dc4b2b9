"""The counts of several processes, reported as one."""

from functools import partial

import pytest

from fanion.db.engine import PoolUse
from fanion.observability.metrics import Measured, Metrics, sum_metrics, without_ages
from fanion.server.head import path_of


def counted_metrics(route: str, requests: int) -> Metrics:
    metrics = Metrics()
    answered, seconds = metrics.hot.requests(route, 200)
    for _ in range(requests):
        answered.count += 1
        seconds.observe(0.002)
        metrics.store_seconds.labels("records").observe(0.001)
    return metrics


def test_what_others_have_counted_is_added() -> None:
    metrics = counted_metrics("decide", 3)
    others = [counted_metrics("decide", 4).measured(), counted_metrics("capture", 5).measured()]
    metrics.elsewhere = lambda: others

    lines = metrics.render().decode().splitlines()

    for line in (
        'fanion_requests_total{route="decide",status="200"} 7.0',
        'fanion_requests_total{route="capture",status="200"} 5.0',
        'fanion_request_seconds_bucket{le="0.001",route="decide"} 0.0',
        'fanion_request_seconds_bucket{le="0.0025",route="decide"} 7.0',
        'fanion_request_seconds_count{route="capture"} 5.0',
        'fanion_store_seconds_count{store="records"} 12.0',
    ):
        assert line in lines
    assert len(lines) == len(set(lines))


def test_flags_are_as_old_as_in_the_process_where_they_are_oldest() -> None:
    ages = Metrics(), Metrics(), Metrics()
    for metrics, age_s in zip(ages, (3, 7, 5), strict=True):
        metrics.flags_age.set_function(partial(float, age_s))
    ages[0].elsewhere = lambda: [age.measured() for age in ages[1:]]

    assert "fanion_flags_age_seconds 7.0" in ages[0].render().decode().splitlines()


def test_of_a_process_that_has_ended_counts_stay_and_the_age_does_not() -> None:
    ended = counted_metrics("decide", 4)
    ended.flags_age.set(300)
    metrics = counted_metrics("decide", 3)
    metrics.elsewhere = lambda: [without_ages(ended.measured())]

    lines = metrics.render().decode().splitlines()

    assert 'fanion_requests_total{route="decide",status="200"} 7.0' in lines
    assert "fanion_flags_age_seconds 0.0" in lines


def test_alone_a_process_reports_the_same() -> None:
    metrics = counted_metrics("decide", 3)
    alone = metrics.render()
    metrics.elsewhere = lambda: [{}]

    assert metrics.render() == alone


def test_when_a_number_began_is_not_added() -> None:
    parts: list[Measured] = [{"a": [("a_created", {}, 10.0), ("a_total", {}, 1.0)]}] * 2

    assert sum_metrics(parts) == {"a": [("a_created", {}, 10.0), ("a_total", {}, 2.0)]}


def test_requests_of_other_processes_count_as_answered() -> None:
    metrics = counted_metrics("decide", 3)
    metrics.hot.answered_elsewhere = lambda: 4

    assert metrics.hot.answered == 7


@pytest.mark.parametrize(
    ("request_line", "path"),
    [
        (b"POST /decide/?v=3 HTTP/1.1\r\n", "/decide/"),
        (b"GET / HTTP/1.1\r\n", "/"),
        (b"GET /a%20b?c=/d HTTP/1.1\r\nx: /y z\r\n", "/a%20b"),
        (b"GET http://host/decide/?v=3 HTTP/1.1\r\n", "/decide/"),
        (b"GET http://host HTTP/1.1\r\n", "/"),
        (b"OPTIONS * HTTP/1.1\r\n", "*"),
        (b"nonsense\r\n", "nonsense\r"),
        (b"\r\nGET /a HTTP/1.1\r\n", "/a"),
        (b"\r\n", ""),
        ("GET /\u00e9 HTTP/1.1\r\n".encode(), "/\u00c3\u00a9"),
    ],
)
def test_the_path_of_a_first_line(request_line: bytes, path: str) -> None:
    assert path_of(request_line) == path


def test_the_runs_of_a_job_are_counted_and_the_last_success_is_the_latest_of_all_processes() -> (
    None
):
    here, other = Metrics(), Metrics()
    here.job("cohorts").failed(0.5)
    here.job("cohorts").succeeded(0.25)
    other.job("cohorts").failed(1)
    here.elsewhere = lambda: [other.measured()]

    lines = here.render().decode().splitlines()

    assert 'fanion_job_seconds_count{name="cohorts"} 3.0' in lines
    assert 'fanion_job_seconds_sum{name="cohorts"} 1.75' in lines
    assert 'fanion_job_failures_total{name="cohorts"} 2.0' in lines
    [last] = [
        line for line in lines if line.startswith("fanion_job_last_success_timestamp_seconds{")
    ]
    assert float(last.split()[1]) > 1.7e9


def test_the_connections_of_a_pool_are_in_use_or_waited_for() -> None:
    metrics, pool = Metrics(), PoolUse(2)
    metrics.watch_pools({"records": pool})
    with pool.counted(), pool.counted(), pool.counted():
        busy = metrics.render().decode().splitlines()
    idle = metrics.render().decode().splitlines()

    assert 'fanion_db_connections_in_use{pool="records"} 2.0' in busy
    assert 'fanion_db_connections_waiting{pool="records"} 1.0' in busy
    assert 'fanion_db_connections_in_use{pool="records"} 0.0' in idle
    assert 'fanion_db_connections_max{pool="records"} 2.0' in idle
