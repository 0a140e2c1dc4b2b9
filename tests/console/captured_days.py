"""Events on past days, which tests capture and count on their own."""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.console.project import Project


@dataclass(frozen=True)
class CapturedDays:
    """Events by person and name, on days counted back from today.

    Attributes:
        days_ago: The days of each event by (person, event).
    """

    days_ago: dict[tuple[str, str], list[int]]

    def capture(self, project: Project) -> None:
        """Capture the events oldest first, because a person exists from their first event on."""
        now = datetime.now(UTC)
        events = [(ago, who, event) for (who, event), days in self.days_ago.items() for ago in days]
        project.capture(
            *(
                {
                    "event": event,
                    "distinct_id": who,
                    "timestamp": (now - timedelta(days=ago)).isoformat(),
                }
                for ago, who, event in sorted(events, reverse=True)
            )
        )

    def who(self, event: str, ago: int) -> set[str]:
        """Return the persons who had the event on this day."""
        return {who for (who, name), days in self.days_ago.items() if name == event and ago in days}

    def returned(
        self, target: str, returning: str, days: int, most: int, *, later: bool = False
    ) -> list[list[int]]:
        """Return for each day, oldest first, how many began then and how many returned later.

        Args:
            days: The number of days.
            most: The number of values in a row, including the day itself.
            later: Whether returning on a later day also counts for all days before it.
        """
        rows = []
        for began in range(days - 1, -1, -1):
            them = self.who(target, began)
            ahead = range(1, min(most, began + 1))
            back = [self._back(them, returning, began - k, later=later) for k in ahead]
            rows.append([len(them), *map(len, back)])
        return rows

    def _back(self, them: Set[str], event: str, ago: int, *, later: bool) -> set[str]:
        days: Iterable[int] = range(ago + 1) if later else [ago]
        return {who for day in days for who in them & self.who(event, day)}

    def on_days(self, event: str, days: int, *, least: int = 1) -> list[int]:
        """Return how many persons had the event on exactly one day, on two, and so on.

        Args:
            days: The number of days.
            least: The number of events for a day to count.
        """
        numbers = [
            sum(1 for ago in set(all_days) if ago < days and all_days.count(ago) >= least)
            for (_, name), all_days in self.days_ago.items()
            if name == event
        ]
        return [numbers.count(number) for number in range(1, days + 1)]

    def life_cycle(self, event: str, ago: int) -> dict[str, set[str]]:
        """Return the persons of each status on a day."""
        active, before = self.who(event, ago), self.who(event, ago + 1)
        created = {who for who in active if self._first_day(who) == ago}
        return {
            "New": created,
            "Returning": (active - created) & before,
            "Resurrecting": active - created - before,
            "Dormant": before - active,
        }

    def _first_day(self, who: str) -> int:
        return max(max(days) for (name, _), days in self.days_ago.items() if name == who)

    def first(self, event: str) -> "CapturedDays":
        """Return a copy with only the first of these events per person."""
        return CapturedDays(
            {
                (who, name): [max(days)] if name == event else days
                for (who, name), days in self.days_ago.items()
            }
        )
