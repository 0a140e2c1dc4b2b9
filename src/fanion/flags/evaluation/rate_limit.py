"""The limit on how often one key may ask for flags."""

from dataclasses import dataclass, field
from functools import partial

from fanion.errors import AppError
from fanion.runtime.token_bucket import TokenBuckets

# Keys whose rates are remembered, including unknown ones.
KEYS_MAX = 10_000


class TooManyEvaluations(AppError):
    status, type, default_code = 429, "validation_error", "rate_limit_exceeded"
    default_detail = "Rate limit exceeded "

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("retry-after", "1"),)


@dataclass(slots=True)
class EvaluationLimit:
    """A token bucket for each key.

    Attributes:
        per_s: Sustained requests per second of one key; 0 for no limit.
        burst: Requests allowed at once after a quiet time.

    Source: flags.md sections 10 and 18.
    """

    per_s: float = 0.0
    burst: float = 1.0
    buckets: TokenBuckets[str] = field(default_factory=partial(TokenBuckets, KEYS_MAX))

    def take_token(self, key: str, now: float) -> None:
        """Take a token from the key's bucket.

        Args:
            key: Empty for requests without a key.
            now: Seconds of a steady clock.

        Raises:
            TooManyEvaluations: The bucket is empty.
        """
        bucket = self.buckets.bucket_of(key)
        if bucket.wait_s(self.per_s, self.burst, now):
            raise TooManyEvaluations
        bucket.level -= 1
