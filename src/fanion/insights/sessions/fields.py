"""The fields of a session: names and types, and the events that each comes from.

Source: insights.md, section 11.
"""

from collections.abc import Mapping
from typing import Final, Literal

from fanion.properties.filters import SESSION, ConditionGroup, Node, Property
from fanion.rest.unknown_fields import no_choice

FieldType = Literal["text", "number", "time", "boolean"]

# Fields that are a property of the first event.
FIRST_EVENT_PROPERTIES: Final[Mapping[str, str]] = {
    "$entry_referring_domain": "$referring_domain",
    "$entry_referrer": "$referrer",
    **{f"$entry_{name}": name for name in (
        "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content",
        "gclid", "gad_source", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid",
        "twclid", "li_fat_id", "mc_cid", "igshid", "ttclid", "_kx", "irclid",
    )},
}  # fmt: skip
# Fields that count events of a name.
EVENT_COUNTS: Final[Mapping[str, str]] = {
    "$pageview_count": "$pageview",
    "$autocapture_count": "$autocapture",
    "$screen_count": "$screen",
}
# Parts of the URL of the first or last page view.
URL_PARTS: Final[Mapping[str, str]] = {
    "current_url": "{url}",
    "pathname": "path({url})",
    "hostname": "domain({url})",
}
# Maps fields that are part of a URL to the end of the session that has it.
URL_FIELDS: Final[Mapping[str, str]] = {
    f"${prefix}_{part}": f"{end}_url"
    for prefix, end in (("entry", "entry"), ("exit", "exit"), ("end", "exit"))
    for part in URL_PARTS
}
FIELDS: Final[Mapping[str, FieldType]] = {
    "$start_timestamp": "time",
    "$end_timestamp": "time",
    "$session_duration": "number",
    **dict.fromkeys(URL_FIELDS, "text"),
    **dict.fromkeys(FIRST_EVENT_PROPERTIES, "text"),
    **dict.fromkeys(EVENT_COUNTS, "number"),
    "$is_bounce": "boolean",
    "$channel_type": "text",
}


def is_of_sessions(node: Node) -> bool:
    """Return whether all conditions of a node are on sessions.

    A negated group is not: it also holds for events without a session.
    """
    if isinstance(node, ConditionGroup):
        children = () if node.negation else node.children
        return bool(children) and all(is_of_sessions(child) for child in children)
    return isinstance(node, Property) and node.type == SESSION


def check_session_field(name: str, attr: str) -> None:
    """Raise Invalid for an unknown field.

    Args:
        attr: The place in the request.
    """
    if name not in FIELDS:
        raise no_choice(name, FIELDS, attr)
