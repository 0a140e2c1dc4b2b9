"""Token buckets: when tokens may be taken, and how many buckets are remembered."""

import pytest

from fanion.runtime.token_bucket import TokenBucket, TokenBuckets


def test_a_bucket_is_full_at_first_and_fills_up_to_its_capacity() -> None:
    bucket = TokenBucket()

    assert bucket.wait_s(2, 4, 0) == 0
    assert bucket.level == 4
    bucket.level -= 4
    assert bucket.wait_s(2, 4, 0) == 0.5
    assert bucket.wait_s(2, 4, 0.25) == 0.25
    assert bucket.wait_s(2, 4, 0.5) == 0
    assert bucket.wait_s(2, 4, 100) == 0
    assert bucket.level == 4


def test_a_debt_is_worked_off_at_the_rate() -> None:
    bucket = TokenBucket()
    bucket.wait_s(1, 1, 0)
    bucket.level -= 10

    assert bucket.wait_s(1, 1, 0) == 10
    assert bucket.wait_s(1, 1, 10) == 0


def test_of_a_bucket_smaller_than_a_token_all_is_needed() -> None:
    bucket = TokenBucket()
    bucket.wait_s(0.1, 0.5, 0)
    bucket.level -= 1

    assert bucket.wait_s(0.1, 0.5, 0) == pytest.approx(10)
    assert bucket.wait_s(0.1, 0.5, 10) == 0


def test_without_a_rate_it_is_full() -> None:
    bucket = TokenBucket()
    bucket.wait_s(1, 1, 0)
    bucket.level -= 100

    assert bucket.wait_s(None, 0, 0) == 0
    assert bucket.wait_s(1, 1, 0) == 0


def test_a_clock_that_is_set_back_adds_nothing() -> None:
    bucket = TokenBucket()
    bucket.wait_s(1, 1, 100)
    bucket.level -= 1

    assert bucket.wait_s(1, 1, 50) == 1
    assert bucket.wait_s(1, 1, 51) == 0


def test_the_least_recently_used_key_is_forgotten() -> None:
    buckets: TokenBuckets[str] = TokenBuckets(2)
    first = buckets.bucket_of("a")
    buckets.bucket_of("b")
    assert buckets.bucket_of("a") is first

    buckets.bucket_of("c")

    assert list(buckets) == ["a", "c"]
    assert len(buckets) == 2
    assert buckets.bucket_of("a") is first
