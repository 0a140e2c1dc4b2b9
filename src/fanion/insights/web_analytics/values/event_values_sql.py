"""The values of rows of a table by a value of events.

Source: insights.md, section 11.
"""

from collections.abc import Callable, Sequence
from typing import Final

from fanion.insights.entities import Entity
from fanion.insights.parsing.path_cleaning import Cleaning
from fanion.insights.sessions.kept_views_sql import PAGES, SETTINGS
from fanion.insights.sessions.sql import Sessions
from fanion.insights.sql.compiler import Compiler
from fanion.insights.web_analytics.query import WebBreakdown
from fanion.insights.web_analytics.tables import PREVIOUS_PAGE, Table

# The page before a view, as the library for web pages sends it.
LEFT_PAGE: Final = "$prev_pageview_pathname"

_EVENT_PROPERTIES: Final[dict[WebBreakdown, str]] = {
    "Page": "$pathname",
    "ScreenName": "$screen_name",
    "Browser": "$browser",
    "OS": "$os",
    "DeviceType": "$device_type",
    "Country": "$geoip_country_code",
    "Language": "$browser_language",
    "Timezone": "$timezone_offset",
}
# Breakdowns whose value is a JSON list as text, '' if all its parts are missing.
LISTS: Final[dict[WebBreakdown, tuple[str, ...]]] = {
    "Viewport": ("$viewport_width", "$viewport_height"),
    "Region": ("$geoip_country_code", "$geoip_subdivision_1_code", "$geoip_subdivision_1_name"),
    "City": ("$geoip_country_code", "$geoip_city_name"),
}
_OF_PREVIOUS_PAGE: Final = (LEFT_PAGE, "$referrer", "$current_url")


def properties_of(table: Table) -> tuple[str, ...]:
    """Return the properties of events that make up the value of a table."""
    assert table.breakdown is not None
    if table.breakdown == PREVIOUS_PAGE:
        return _OF_PREVIOUS_PAGE
    return LISTS.get(table.breakdown) or (_EVENT_PROPERTIES[table.breakdown],)


def value_of_event(compiler: Compiler, table: Table) -> tuple[str, str]:
    """Return SQL for the value of an event, and the condition that guarantees it is correct."""
    if table.breakdown not in _EVENT_PROPERTIES or table.breakdown == "Timezone":
        return row_value(table, compiler, compiler.text), "1"
    text, check = compiler.text_and_check(_EVENT_PROPERTIES[table.breakdown])
    return row_value(table, compiler, lambda _: text), check


def row_value(table: Table, compiler: Compiler, text_of: Callable[[str], str]) -> str:
    """Return SQL for the value of a row.

    Args:
        text_of: Returns SQL for a property of the row as text, '' without one.
    """
    if table.breakdown is None:
        return _number_of_goal(table.goals, compiler)
    texts = [text_of(key) for key in properties_of(table)]
    if table.breakdown in LISTS:
        together = f"[{', '.join(texts)}]"
        return f"if(arrayAll(one -> one = '', {together}), '', toJSONString({together}))"
    if table.breakdown == "Timezone":
        # JavaScript offsets are minutes west of UTC; people write hours east of it.
        return f"ifNull(toString((0 - toFloat64OrNull({texts[0]})) / 60), '')"
    if table.breakdown == PREVIOUS_PAGE:
        return _previous_page(texts, table, compiler)
    if table.breakdown == "Page":
        return clean_path(texts[0], table.cleaning, compiler)
    return texts[0]


def _number_of_goal(goals: Sequence[Entity], compiler: Compiler) -> str:
    """Return SQL for the number of each goal that an event reaches; other events have no row."""
    numbers = (f"if({compiler.entity(goal)}, '{n}', '')" for n, goal in enumerate(goals))
    return f"arrayJoin(arrayFilter(number -> number != '', [{', '.join(numbers)}]))"


def _previous_page(texts: Sequence[str], table: Table, compiler: Compiler) -> str:
    """Return SQL for the page from which a view came: a path of this site, or another address."""
    left, referrer, url = texts
    own, path = (clean_path(text, table.cleaning, compiler) for text in (left, f"path({referrer})"))
    is_own = f"domain({referrer}) != '' AND domain({url}) = domain({referrer})"
    return f"multiIf({left} != '', {own}, {is_own}, {path}, {referrer})"


def listed_values(table: Table, compiler: Compiler) -> str:
    """Return SQL for the distinct values of the views of a kept row."""
    lists = PAGES if table.breakdown == "ScreenName" else SETTINGS
    keys = properties_of(table)
    names = {key: f"text_{number}" for number, key in enumerate(keys)}
    value = row_value(table, compiler, names.__getitem__)
    columns = ", ".join(map(lists.values, keys))
    made = f"arrayMap(({', '.join(names.values())}) -> {value}, {columns})"
    return f"CAST(arrayDistinct({made}) AS Array(String))"


def clean_path(text: str, cleaning: Sequence[Cleaning], bound: Compiler | Sessions) -> str:
    """Return SQL for a path after the cleaning rules, applied in order."""
    for rule in cleaning:
        regex, alias = bound.bindings.text(rule.regex), bound.bindings.text(rule.alias)
        text = f"replaceRegexpAll({text}, {regex}, {alias})"
    return text
