"""How much of the interpreter ingestion leaves to requests: answers are waited for, ingestion is
not. What is accepted and not ingested yet is safe in the log."""

from dataclasses import dataclass

# Requests a second of all kinds. With fewer there is room for both.
CROWDED_PER_S = 1_000
# After a run ingestion rests so many times as long as the run took. Of 32 clients that send
# batches of 100 without a pause, 440,000 events a second are accepted with rests, 175,000 without.
REST = 6.0
# Events are to be seen before long: with the oldest one waiting this long nothing is left.
LAG_MAX_S = 10.0


# A run is not interrupted. Beside many requests runs are short, of a second or so; larger ones
# make fewer parts, which spares a seventh of all that an event costs.
RUN_BYTES_MAX = 16 * 1024 * 1024
CROWDED_RUN_BYTES_MAX = 4 * 1024 * 1024


@dataclass(slots=True)
class Courtesy:
    """answered: requests so far; at: seconds of a steady clock"""

    answered: int
    at: float
    is_crowded: bool = False

    @property
    def run_bytes_max(self) -> int:
        return CROWDED_RUN_BYTES_MAX if self.is_crowded else RUN_BYTES_MAX

    def rest_s(self, answered: int, at: float, run_s: float, lag_s: float) -> float:
        """How long to rest after a run of `run_s`, the oldest event being `lag_s` old."""
        rate = (answered - self.answered) / max(at - self.at, 1e-3)
        self.answered, self.at = answered, at
        self.is_crowded = rate >= CROWDED_PER_S
        if not self.is_crowded or lag_s > LAG_MAX_S:
            return 0.0
        return min(REST * run_s, LAG_MAX_S - lag_s)
