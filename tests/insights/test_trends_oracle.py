"""Trends of random histories, against a model in plain Python."""

from collections import Counter
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings

from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History, histories


@settings(max_examples=examples(25))
@given(histories())
async def test_events_are_counted_by_day(analyst: Analyst, history: History) -> None:
    [entry] = await analyst.answer(history, events=[{"id": "a"}], date_from="-7d")

    zone = ZoneInfo(history.zone)
    today = NOW.astimezone(zone).date()
    counted = Counter[date](
        event.at.astimezone(zone).date() for event in history.once if event.event == "a"
    )
    assert entry["data"] == [float(counted[today - timedelta(days=7 - n)]) for n in range(8)]
