"""The views of a session in its kept row, which tables of web analytics count by values of events.

A row has lists of one length for the pages, an element for each view, and lists of another length
for the values that seldom change during a session: one element if they never did, else one for each
view. An element tells its person, by the place in `whos`, and its views.

Source: docs/decisions/0026-kept-sessions.md.
"""

from dataclasses import dataclass
from typing import Final

from fanion.insights.sessions.sql import Sessions

# The views of a session with more views are read from its events.
VIEWS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class ViewLists:
    """The columns of a row of which each has a list, all of one length.

    Attributes:
        name: The first word of their names.
        keys: The properties with a list of their texts.
    """

    name: str
    keys: tuple[str, ...]

    @property
    def persons(self) -> str:
        """Return the column of the places in `whos`, from 1."""
        return f"`{self.name} who`"

    @property
    def views(self) -> str:
        """Return the column of the numbers of views."""
        return f"`{self.name} views`"

    def values(self, key: str) -> str:
        """Return the column of the texts of a property."""
        return f"`{self.name} {key}`"

    @property
    def columns(self) -> tuple[str, ...]:
        return (*map(self.values, self.keys), self.persons, self.views)


PAGES: Final = ViewLists("page", ("$pathname", "$screen_name"))
SETTINGS: Final = ViewLists(
    "setting",
    (
        *("$browser", "$os", "$device_type", "$viewport_width", "$viewport_height"),
        *("$browser_language", "$timezone_offset", "$geoip_country_code"),
        *("$geoip_subdivision_1_code", "$geoip_subdivision_1_name", "$geoip_city_name"),
    ),
)
# The condition on a row whose lists are empty because it has too many views.
IS_UNLISTED: Final = f"views > 0 AND empty({PAGES.views})"

# Copies of an event may have several persons. Each counts, and the event once.
_LISTED: Final = """
  SELECT *,
         arraySlice(seen, 1, if(length(seen) > {views_max}, 0, {views_max})) AS listed,
         arrayMap(one -> indexOf(whos, one), listed.2) AS places,
         if(arrayUniq(listed.2, listed.4) = 1, 1, {views_max}) AS settings_max
    FROM ({rows})
"""


def add_views(sessions: Sessions, views_max: int) -> None:
    """Add the views of a session, with their uuids, as the aggregate that `with_lists` needs."""
    pages, settings = (
        f"({', '.join(sessions.plain_text(key) for key in lists.keys)})"
        for lists in (PAGES, SETTINGS)
    )
    sessions.column("one_view", f"(uuid, who, {pages}, {settings})")
    sessions.aggregate("seen", f"groupUniqArrayIf({views_max + 1})(one_view, is_view)")


def with_lists(rows: str, views_max: int) -> tuple[str, list[str]]:
    """Return a FROM clause, and an expression for each column of the lists in their order.

    Args:
        rows: Rows of sessions with `whos` and what `add_views` adds.
    """
    pages = [f"listed.3.{place}" for place in range(1, len(PAGES.keys) + 1)]
    settings = [
        f"arraySlice(listed.4.{place}, 1, settings_max)"
        for place in range(1, len(SETTINGS.keys) + 1)
    ]
    of_one = "[arrayUniq(listed.1)]"
    expressions = [
        *pages,
        "places",
        _firsts("listed.1, listed.3"),
        *settings,
        "arraySlice(places, 1, settings_max)",
        f"if(settings_max = 1, {of_one}, {_firsts('listed.1, listed.4')})",
    ]
    return f"({_LISTED.format(rows=rows, views_max=views_max)})", expressions


def _firsts(keys: str) -> str:
    """Return SQL for a list with 1 for the first of equal elements, and 0 for the others."""
    return f"arrayMap(number -> toUInt64(number = 1), arrayEnumerateUniq({keys}))"
