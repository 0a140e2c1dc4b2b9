"""The locations of addresses, read from a database file in MaxMind's format."""

from pathlib import Path
from typing import Any

import pytest

from fanion.runtime.geoip import GeoIp, GeoIpUnreadable, open_geoip
from tests.support.maxmind import write_maxmind

BERLIN: dict[str, Any] = {
    "city": {"names": {"de": "Berlin", "en": "Berlin"}},
    "continent": {"code": "EU", "names": {"en": "Europe"}},
    "country": {"iso_code": "DE", "names": {"en": "Germany"}},
    "location": {"latitude": 52.52, "longitude": 13.4, "time_zone": "Europe/Berlin"},
    "postal": {"code": "10115"},
    "subdivisions": [{"iso_code": "BE", "names": {"en": "State of Berlin"}}],
}
ONLY_COUNTRY = {"country": {"iso_code": "FR", "names": {"en": "France"}}}
STRANGE = {"country": "nothing usual", "subdivisions": "none", "city": {"names": 7}}


@pytest.fixture
def geoip(tmp_path: Path) -> GeoIp:
    networks = {
        "192.0.2.0/24": BERLIN,
        "198.51.100.7/32": ONLY_COUNTRY,
        "2001:db8::/32": ONLY_COUNTRY,
        "203.0.113.0/24": STRANGE,
    }
    return open_geoip(write_maxmind(tmp_path / "city.mmdb", networks))


def test_a_city_reports_all_that_is_known_of_it(geoip: GeoIp) -> None:
    assert geoip("192.0.2.44") == {
        "$geoip_city_name": "Berlin",
        "$geoip_country_name": "Germany",
        "$geoip_country_code": "DE",
        "$geoip_continent_name": "Europe",
        "$geoip_continent_code": "EU",
        "$geoip_postal_code": "10115",
        "$geoip_latitude": 52.52,
        "$geoip_longitude": 13.4,
        "$geoip_time_zone": "Europe/Berlin",
        "$geoip_subdivision_1_code": "BE",
        "$geoip_subdivision_1_name": "State of Berlin",
    }


@pytest.mark.parametrize("address", ["198.51.100.7", "2001:db8::1", "2001:DB8:0::1"])
def test_what_the_file_does_not_say_is_left_out(geoip: GeoIp, address: str) -> None:
    assert geoip(address) == {"$geoip_country_name": "France", "$geoip_country_code": "FR"}


@pytest.mark.parametrize(
    "address",
    [
        *("198.51.100.8", "::1", "127.0.0.1", "203.0.113.1"),
        *("", "nowhere", "192.0.2", "192.0.2.1\0", "192.0.2.1\ud800", " 192.0.2.1", "1" * 10_000),
    ],
)
def test_an_unknown_address_is_nowhere(geoip: GeoIp, address: str) -> None:
    assert geoip(address) == {}


def test_a_missing_file_is_reported_by_its_setting(tmp_path: Path) -> None:
    path = tmp_path / "missing.mmdb"

    with pytest.raises(GeoIpUnreadable, match=f"^FANION_GEOIP_DB: {path} cannot be read"):
        open_geoip(path)


def test_a_file_that_is_no_database_is_reported_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database\n" * 100)

    with pytest.raises(GeoIpUnreadable) as caught:
        open_geoip(path)

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
