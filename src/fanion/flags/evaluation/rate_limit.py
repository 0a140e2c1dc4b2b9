"""How many evaluations a project may ask for: a token bucket for each key.

source: flags.md sections 10 and 18
"""

from dataclasses import dataclass, field
from functools import partial

from fanion.errors import AppError
from fanion.runtime.token_bucket import TokenBuckets

# Made-up ones too.
KEYS_MAX = 10_000


class TooManyEvaluations(AppError):
    status, type, default_code = 429, "validation_error", "rate_limit_exceeded"
    default_detail = "Rate limit exceeded "

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("retry-after", "1"),)


@dataclass(slots=True)
class EvaluationLimit:
    """per_s: requests of one key in the long run; 0 for as many as come
    burst: requests at once, after a quiet time
    """

    per_s: float = 0.0
    burst: float = 1.0
    buckets: TokenBuckets[str] = field(default_factory=partial(TokenBuckets, KEYS_MAX))

    def take(self, key: str, now: float) -> None:
        """key: "" without one; now: seconds of a steady clock. raises: TooManyEvaluations"""
        bucket = self.buckets.of(key)
        if bucket.wait_s(self.per_s, self.burst, now):
            raise TooManyEvaluations
        bucket.level -= 1
