"""Properties of a person that events set without a `$set`.

Source: capture.md section 3.3.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_CAMPAIGN = (
    *("utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_name", "utm_term"),
    *("gclid", "gad_source", "gbraid", "wbraid", "fbclid", "msclkid"),
)
_WEB = (
    *("$browser", "$browser_version", "$device_type", "$current_url", "$pathname"),
    *("$os", "$os_version", "$referring_domain", "$referrer"),
)
_APP = ("$app_build", "$app_name", "$app_namespace", "$app_version")

_SKIPPED_EVENTS = frozenset(["$snapshot", "$performance_event", "$groupidentify"])

Properties = Mapping[str, Any]
Changing = dict[str, Any]


@lru_cache(256)  # called with GeoIP properties, for each event
def initial_name(name: str) -> str:
    """Return the name of the property that keeps the first value of another one.

    It is `$initial_current_url` for `$current_url`, and `$initial_utm_source` for `utm_source`.
    """
    return "$initial_" + name.removeprefix("$")


_INITIAL = {name: initial_name(name) for name in (*_CAMPAIGN, *_WEB, *_APP)}
AUTOMATIC = frozenset(_INITIAL)


def automatic_properties(event: str, properties: Properties) -> tuple[Changing, Changing]:
    """Return the properties to set (latest values) and those to set once (`$initial_…`).

    Both are new dicts; nulls are left out.
    """
    if AUTOMATIC.isdisjoint(properties) or event in _SKIPPED_EVENTS:
        return {}, {}
    present = [name for name in _INITIAL if name in properties]
    latest = {name: properties[name] for name in present if properties[name] is not None}
    return latest, {_INITIAL[name]: value for name, value in latest.items()}
