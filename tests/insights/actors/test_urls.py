"""The addresses of the people behind a number."""

from urllib.parse import parse_qsl, urlsplit

import msgspec

from fanion.insights.calculation.people_urls import PeopleUrls, people_url

EVENTS = [{"id": "signed up", "math": "dau"}]
SENT = {"events": EVENTS, "date_from": "-7d", "date_to": None, "compare": True, "properties": []}


def test_the_question_is_in_the_address_with_the_place_of_the_number() -> None:
    url = people_url(7, "trends", SENT, entity_order=0, breakdown_value="a & b", day="2024-03-05")

    parts = urlsplit(url)
    assert (parts.netloc, parts.path) == ("", "/api/projects/7/persons/trends/")
    question = dict(parse_qsl(parts.query, strict_parsing=True))
    assert msgspec.json.decode(question.pop("events")) == EVENTS
    assert question == {
        "date_from": "-7d",
        "compare": "true",
        "entity_order": "0",
        "breakdown_value": "a & b",
        "day": "2024-03-05",
    }


def test_the_place_is_over_the_question() -> None:
    url = people_url(
        7, "funnel", {"date_from": "-7d", "breakdown": "a"}, date_from="all", breakdown=None
    )

    assert url == "/api/projects/7/persons/funnel/?date_from=all"


def test_without_anything_it_is_the_path() -> None:
    assert PeopleUrls(7, "path", {}).url() == "/api/projects/7/persons/path/"
