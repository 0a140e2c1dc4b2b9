"""PostHog's HTML snippet on a page of another origin: it loads posthog-js from the server."""

from functools import partial
from pathlib import Path

import pytest

from tests.clients.browser import Visit, find_chromium, visit
from tests.clients.journey import arrived
from tests.clients.management import Api
from tests.support.built_console import require_built_console
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("real clients in Chromium")

HERE = Path(__file__).parent / "npm"
FLAG = "snippet-flag"
SCRIPT = {"older": "/static/array.js", "newer": "/array/TOKEN/array.js"}


@pytest.fixture(scope="module")
def flag_made(api: Api) -> None:
    everyone = {"groups": [{"properties": [], "rollout_percentage": 100}]}
    api.create_flag(key=FLAG, filters=everyone)


@pytest.mark.parametrize("form", SCRIPT)
def test_a_page_with_the_snippet_sends_events_and_reads_flags(
    form: str, server: tuple[RealServer, Keys], api: Api, flag_made: None, tmp_path: Path
) -> None:
    require_built_console()
    if find_chromium() is None:
        pytest.skip("no Chromium found: install the package `chromium`")
    running, keys = server
    token, user = keys.project_api_key, f"snippet-{form}"
    journey = {"host": running.url, "token": token, "user": user, "form": form, "flag": FLAG}
    await_events = partial(arrived, api, user)

    seen = visit(
        Visit(
            HERE / "snippet_page.mjs",
            HERE / "snippet.js",
            journey,
            await_events,
            tmp_path / "browser",
        )
    )

    assert (seen["flag"], seen["errors"]) == (True, [])
    scripts = {path.replace(token, "TOKEN"): status for path, status in seen["scripts"]}
    assert scripts.pop(SCRIPT[form]) == 200
    # Scripts that it loads by itself, for what the page asks for.
    assert any("web-vitals" in path for path in scripts)
    assert any("exception-autocapture" in path for path in scripts)
    assert set(scripts.values()) == {200}
    [loaded] = api.await_events(1, event="snippet loaded", distinct_id=user)
    assert loaded["properties"]["form"] == form
    assert loaded["properties"]["$lib"] == "web"
