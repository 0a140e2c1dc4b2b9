"""The page object on which every test of the console relies."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.console.browser import Chromium
from tests.console.bulk_rows import add_many_flags, add_many_persons
from tests.console.installation import Installation
from tests.console.project import Project, has, when
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

POLICY = "default-src 'self'; script-src 'nonce-known'; style-src 'self' 'nonce-known'"
SOUND = '<html lang="en"><head><title>Sound</title></head><body><main>{}</main></body></html>'
Show = Callable[[str], Console]


@pytest.fixture
def show(
    chromium_browser: Browser, chromium: Chromium, installation: Installation
) -> Iterator[Show]:
    """Open a page of the server's origin that has this in its body."""
    with chromium.console(installation.server.url) as console:
        yield lambda body: shown(console, body)


def shown(console: Console, body: str) -> Console:
    def answer(route: Route) -> None:
        headers = {"content-security-policy": POLICY}
        text = SOUND.format(f"<h1>A page</h1>{body}")
        route.fulfill(body=text, content_type="text/html", headers=headers)

    console.context.route("**/made-up", answer)
    console.open("/made-up")
    return console


def script(text: str) -> str:
    return f'<script nonce="known">{text}</script>'


def test_a_sound_page_passes(show: Show) -> None:
    console = show("<button>Save</button>")

    console.expect_accessible()
    with console.at_width(360), console.at_zoom(200):
        pass
    console.watch.assert_clean()


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (script("console.error('wrong')"), "console error: wrong"),
        (script("setTimeout(() => { throw new Error('broken') })"), "uncaught error: broken"),
        (script("Promise.reject(new Error('lost'))"), "uncaught error: lost"),
        ("<script>document.title = 'x'</script>", "Content Security Policy"),
        ('<p style="color: red">x</p>', "Content Security Policy"),
        ('<img alt="" src="http://fanion.invalid/x.png">', "request to another host"),
        ('<img alt="" src="/nowhere.png">', "404 for GET"),
    ],
)
def test_what_no_page_may_do_is_seen(show: Show, body: str, problem: str) -> None:
    console = show(body)

    with pytest.raises(AssertionError, match=problem):
        console.watch.assert_clean()


def test_an_expected_failure_is_none(show: Show) -> None:
    console = show("")
    console.watch.expect_status(404, "/nowhere")

    assert console.page.evaluate("async () => (await fetch('/nowhere')).status") == 404
    console.watch.assert_clean()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_colour_that_cannot_be_read_is_seen_in_either_theme(show: Show, theme: str) -> None:
    style = f"@media (prefers-color-scheme: {theme}) {{ p {{ color: #777; background: #888 }} }}"
    console = show(f'<style nonce="known">{style}</style><p>Words</p>')

    with pytest.raises(AssertionError, match=f"{theme}: color-contrast"):
        console.expect_accessible()


def test_a_page_is_settled_when_nothing_is_busy_and_nothing_asked_for(show: Show) -> None:
    """The second request follows the first, and its result is marked as busy for a while."""
    console = show(
        '<div id="here" aria-busy="true"></div>'
        + script("""(async () => {
          await fetch("/_health");
          await new Promise((resolve) => setTimeout(resolve, 100));
          await fetch("/_health");
          here.textContent = "Loaded";
          here.ariaBusy = "false";
        })()""")
    )

    assert console.page.locator("#here").text_content() == "Loaded"


def test_a_page_wider_than_the_window_is_seen(show: Show) -> None:
    console = show(f"<code>{'x' * 100}</code>")

    with pytest.raises(AssertionError, match="scrolls to the side"), console.at_width(360):
        pass


def test_clicks_are_counted_and_keys_are_none(show: Show) -> None:
    console = show("<button>Save</button>")
    button = console.page.get_by_role("button", name="Save")

    with console.keyboard_only():
        console.tab_to(button)
        console.press("Enter")
    with console.clicks_at_most(3):
        button.click()
        button.dblclick()


def test_more_clicks_than_allowed_fail(show: Show) -> None:
    console = show("<button>Save</button>")

    with pytest.raises(AssertionError, match="1 clicks, not 0"), console.clicks_at_most(0):
        console.page.get_by_role("button").click()
    with pytest.raises(AssertionError, match="pointer was used"), console.keyboard_only():
        console.page.get_by_role("button").click()


def test_a_focus_that_is_not_seen_fails(show: Show) -> None:
    style = '<style nonce="known">button:focus { outline: none }</style>'
    console = show(f"{style}<button>Save</button>")

    with pytest.raises(AssertionError, match="focus is not seen"):
        console.tab_to(console.page.get_by_role("button"))


def test_a_control_that_keys_do_not_reach_fails(show: Show) -> None:
    console = show('<button>Save</button><button tabindex="-1">Delete</button>')

    with pytest.raises(AssertionError, match="tabs do not reach"):
        console.tab_to(console.page.get_by_role("button", name="Delete"), tabs_max=4)


def test_people_are_signed_in_without_the_page_for_it(
    chromium_browser: Browser, chromium: Chromium, installation: Installation
) -> None:
    bob = installation.member("Bob")
    for account in (installation.owner, bob):
        cookie = installation.cookie(account)
        with chromium.console(installation.server.url, cookie) as console:
            console.open("/_health")
            user = console.page.evaluate("async () => (await fetch('/api/users/@me/')).json()")

        assert user["email"] == account.email
        assert installation.cookie(account) == cookie
    assert installation.cookie(bob, anew=True) != installation.cookie(bob)


def test_a_project_is_filled_by_the_public_api(project: Project) -> None:
    project.persons(ann={"plan": "pro"}, bob={})
    project.events("paid", "ann", "bob", amount=3)
    flag = project.flag("beta", when(has("plan", "pro"), rollout=20))
    cohort = project.cohort("paying", has("plan", ["pro"]))

    assert project.person("ann")["properties"]["plan"] == "pro"
    assert len(project.get("/events/", event="paid")["results"]) == 2
    assert flag["filters"]["groups"][0]["rollout_percentage"] == 20
    assert cohort["name"] == "paying"


def test_very_many_rows_are_there_as_the_server_has_them(project: Project) -> None:
    add_many_flags(project, 5_000)
    add_many_persons(project, 3_000)

    assert project.get("/feature_flags/", limit=1)["count"] == 5_000
    flag = project.get("/feature_flags/", search="flag-04999")["results"][0]
    assert flag["filters"]["groups"][0]["rollout_percentage"] == 20
    assert project.patch(f"/feature_flags/{flag['id']}/", name="Changed")["name"] == "Changed"
    [person] = project.get("/persons/", email="many-02999@example.com")["results"]
    assert person["distinct_ids"] == ["many-02999@example.com"]


def test_a_server_that_stops_comes_back_with_what_it_had(
    show: Show, project: Project, installation: Installation
) -> None:
    flag = project.flag("beta")
    console = show("<p>Here</p>")
    console.watch.expect_lost_requests()

    with installation.stopped():
        lost = "() => fetch('/_health').then(() => 'there', () => 'gone')"
        assert console.page.evaluate(lost) == "gone"

    assert project.get(f"/feature_flags/{flag['id']}/")["key"] == "beta"
    console.watch.assert_clean()
    expect(console.page.get_by_text("Here")).to_be_visible()
