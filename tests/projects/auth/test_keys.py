"""The expiry of a key, in the forms that clients send."""

from datetime import UTC, datetime, timedelta

import pytest

from fanion.projects.auth.keys import LIFETIME_MAX, read_expiry

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("90d", timedelta(days=90)),
        (" 12h ", timedelta(hours=12)),
        ("3650d", LIFETIME_MAX),
        ("2024-03-02", timedelta(hours=12)),
        ("2024-03-01T12:00:01Z", timedelta(seconds=1)),
        ("2024-03-01 14:00+01:00", timedelta(hours=1)),
    ],
)
def test_a_duration_or_a_time_says_when_a_key_expires(text: str, after: timedelta) -> None:
    assert read_expiry(text, NOW) == NOW + after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0d", "in the future"),
        ("2024-03-01T12:00:00Z", "in the future"),
        ("3651d", "within 3650 days"),
        ("999999d", "within 3650 days"),
        ("9999-12-31T23:59:59-12:00", "within 3650 days"),
        ("1234567d", "is not a number of days or hours"),
        ("-1d", "is not a number of days or hours"),
        ("90", "is not a number of days or hours"),
        ("", "is not a number of days or hours"),
    ],
)
def test_what_says_no_time_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_expiry(text, NOW)
