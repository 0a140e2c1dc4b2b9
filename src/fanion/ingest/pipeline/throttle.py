"""Throttles ingestion while the request rate is high, so that requests keep the interpreter.

What is accepted and not ingested yet is safe in the log.
"""

from dataclasses import dataclass

# Requests a second of all kinds. With fewer there is room for both.
BUSY_REQUESTS_PER_S = 1_000
# After a batch ingestion rests so many times as long as the batch took. Of 32 clients that send
# batches of 100 without a pause, 440,000 events a second are accepted with rests, 175,000 without.
REST = 6.0
# Events are to be seen before long: with the oldest one waiting this long nothing is left.
LAG_MAX_S = 10.0


# A batch is not interrupted. While many requests come, batches are short, of a second or so; larger
# ones make fewer parts, which spares a seventh of all that an event costs.
BATCH_BYTES_MAX = 16 * 1024 * 1024
BUSY_BATCH_BYTES_MAX = 4 * 1024 * 1024


@dataclass(slots=True)
class Throttle:
    """answered: requests so far; at: seconds of a steady clock
    batch_bytes_max: of the bodies of the next batch
    """

    answered: int
    at: float
    is_busy: bool = False
    batch_bytes_max: int = BATCH_BYTES_MAX

    def rest_s(self, answered: int, at: float, batch_s: float, lag_s: float) -> float:
        """How long to rest after a batch of `batch_s`, the oldest event being `lag_s` old."""
        rate = (answered - self.answered) / max(at - self.at, 1e-3)
        self.answered, self.at = answered, at
        self.is_busy = rate >= BUSY_REQUESTS_PER_S
        self.batch_bytes_max = BUSY_BATCH_BYTES_MAX if self.is_busy else BATCH_BYTES_MAX
        if not self.is_busy or lag_s > LAG_MAX_S:
            return 0.0
        return min(REST * batch_s, LAG_MAX_S - lag_s)
