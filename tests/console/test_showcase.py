"""The project of screenshots and of tests of many screens, which holds what they are to show."""

import pytest

from tests.console.hostile import HOSTILE
from tests.console.installation import Installation
from tests.console.showcase import Showcase

pytestmark = pytest.mark.long("drives Chromium")


def test_the_showcase_has_everything(showcase: Showcase, installation: Installation) -> None:
    project = showcase.project
    flags = project.get("/feature_flags/")["results"]
    letters = project.get("/ingestion/dead_letters/")["results"]
    person = project.person(showcase.hostile)

    assert len(flags) == 13
    assert {flag["key"] for flag in flags} == {*showcase.flags, "price-page"}
    assert len(letters) == 2
    assert len(project.get("/cohorts/")["results"]) == len(showcase.cohorts)
    assert len(project.get("/webhooks/")["results"]) == 2
    assert project.get("/groups_types/") != []
    assert person["properties"]["markup"] == HOSTILE["markup"]
    assert project.get(f"/feature_flags/{showcase.flags['gradual']['id']}/scheduled_changes/")


@pytest.mark.parametrize("name", ["paid", "checkout failed", "$pageview"])
def test_events_go_back_two_weeks(showcase: Showcase, name: str) -> None:
    events = [{"id": name, "type": "events"}]
    # Today is left out: shortly after midnight, everything happened yesterday.
    range_ = {"date_from": "-13d", "date_to": "-1d"}
    body = {"insight": "TRENDS", "events": events, **range_}
    [series] = showcase.project.post("/insights/trend/", **body)["result"]

    assert len(series["data"]) == 13
    assert all(series["data"]), series["data"]
