"""The location of addresses, from a MaxMind database file that the operator provides."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import maxminddb

# A look-up in the file takes 20 µs, one in this cache 0.2 µs. Full of cities it takes about 30 MB.
ADDRESSES_MAX = 20_000
ADDRESS_CHARS_MAX = 45  # IPv6 written in full with an IPv4 end; longer texts take memory
SUBDIVISIONS_MAX = 3

Place = Mapping[str, Any]
GeoIp = Callable[[str], Place]

_NOWHERE: Place = {}


class GeoIpUnreadable(Exception):
    """A file that does not exist or is not a database. The text is one line."""


def open_geoip(path: Path) -> GeoIp:
    """Return a function from an address to its `$geoip_…` properties.

    The function returns {} for an unknown address and for other text. It may be called from any
    thread.

    Raises:
        GeoIpUnreadable: The file does not exist or is not a database.
    """
    try:
        reader = maxminddb.open_database(path)
    except (OSError, maxminddb.InvalidDatabaseError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise GeoIpUnreadable(
            f"FANION_GEOIP_DB: {path} cannot be read as a MaxMind database: {reason}"
        ) from None

    @lru_cache(ADDRESSES_MAX)
    def look_up(address: str) -> Place:
        try:
            record = reader.get(address)
        except (ValueError, TypeError, maxminddb.InvalidDatabaseError):
            return _NOWHERE  # clients send any text as `$ip`, even with NUL in it
        return geoip_properties(record) if isinstance(record, dict) else _NOWHERE

    def locate(address: str) -> Place:
        return look_up(address) if len(address) <= ADDRESS_CHARS_MAX else _NOWHERE

    return locate


def geoip_properties(record: Mapping[str, Any]) -> Place:
    """Return the properties of a record of a city or country database.

    Properties that the record does not have are left out.
    """
    city, country, continent = (
        _record_part(record, name) for name in ("city", "country", "continent")
    )
    location, postal = _record_part(record, "location"), _record_part(record, "postal")
    properties: dict[str, Any] = {
        "$geoip_city_name": _english_name(city),
        "$geoip_country_name": _english_name(country),
        "$geoip_country_code": country.get("iso_code"),
        "$geoip_continent_name": _english_name(continent),
        "$geoip_continent_code": continent.get("code"),
        "$geoip_postal_code": postal.get("code"),
        "$geoip_latitude": location.get("latitude"),
        "$geoip_longitude": location.get("longitude"),
        "$geoip_time_zone": location.get("time_zone"),
    }
    subdivisions = record.get("subdivisions")
    if isinstance(subdivisions, list):
        for number, subdivision in enumerate(subdivisions[:SUBDIVISIONS_MAX], 1):
            properties[f"$geoip_subdivision_{number}_code"] = subdivision.get("iso_code")
            properties[f"$geoip_subdivision_{number}_name"] = _english_name(subdivision)
    return {name: value for name, value in properties.items() if value is not None}


def _record_part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = record.get(name)
    return part if isinstance(part, dict) else _NOWHERE


def _english_name(part: Mapping[str, Any]) -> str | None:
    names = _record_part(part, "names")
    name: str | None = names.get("en")
    return name
