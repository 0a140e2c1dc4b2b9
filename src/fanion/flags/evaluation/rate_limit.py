"""How many evaluations a project may ask for: a token bucket for each key.

source: flags.md sections 10 and 18
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from fanion.errors import AppError

# Of more keys than these, made-up ones too, the least recently used start full.
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
    # key → (requests that may come now, when that was)
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, key: str, now: float) -> None:
        """key: "" without one; now: seconds of a steady clock. raises: TooManyEvaluations"""
        left, then = self._left.get(key, (self.burst, now))
        left = min(self.burst, left + (now - then) * self.per_s)
        allowed = left >= 1
        self._left[key] = left - 1 if allowed else left, now
        self._left.move_to_end(key)
        if len(self._left) > KEYS_MAX:
            self._left.popitem(last=False)
        if not allowed:
            raise TooManyEvaluations
