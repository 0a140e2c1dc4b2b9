"""Rate limits of capture by project: token buckets for items and for bytes."""

from math import ceil, inf
from typing import Protocol

from fanion.projects.model import IngestionSettings, Project
from fanion.runtime.token_bucket import TokenBuckets

# Only projects with a limit have buckets.
PROJECTS_MAX = 10_000


class RateLimiter(Protocol):
    """A rate limiter of projects, in this process or in the one that counts for all processes."""

    async def take_tokens(self, project: Project, items: int, size: int, now: float) -> int:
        """Take what a request needs; see `ProjectRateLimits.wait_s`."""


class ProjectRateLimits:
    """The rate limits of projects in this process.

    A request is accepted whole if there is anything in the bucket, and may overdraw it, so that no
    batch is too large to be sent at all. The rate holds over time.
    """

    def __init__(self, projects_max: int = PROJECTS_MAX) -> None:
        self._items: TokenBuckets[int] = TokenBuckets(projects_max)
        self._bytes: TokenBuckets[int] = TokenBuckets(projects_max)

    async def take_tokens(self, project: Project, items: int, size: int, now: float) -> int:
        return self.wait_s(project.id, project.ingestion, items, size, now)

    def wait_s(
        self, project_id: int, settings: IngestionSettings, items: int, size: int, now: float
    ) -> int:
        """Take what a request needs and return 0, or take nothing and return how long to wait.

        Args:
            size: Bytes of the items.
            now: Seconds of a monotonic clock.

        Returns:
            Whole seconds until the request may be repeated.
        """
        of_items, of_bytes = self._items.bucket_of(project_id), self._bytes.bucket_of(project_id)
        items_per_s, bytes_per_s = settings.items_per_second, settings.bytes_per_second
        wait = max(
            of_items.wait_s(items_per_s, (items_per_s or inf) * settings.burst_seconds, now),
            of_bytes.wait_s(bytes_per_s, (bytes_per_s or inf) * settings.burst_seconds, now),
        )
        if wait > 0:
            return ceil(wait)
        of_items.level -= items
        of_bytes.level -= size
        return 0
