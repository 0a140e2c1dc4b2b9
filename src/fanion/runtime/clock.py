"""The only place that reads the clock; everything else is passed this function."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

utc_now: Callable[[], datetime] = partial(datetime.now, UTC)
