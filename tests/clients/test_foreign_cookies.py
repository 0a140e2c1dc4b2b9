"""Sessions in a browser in which another site of the same host sets cookies, signs in and links."""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import pytest

from tests.clients.test_forged_requests import FETCH, FORM, KINDS
from tests.clients.victim import COOKIE, EMAIL, FLAGS, PASSWORD, SIGN_IN, WHO, Victim, call
from tests.support import plain_http

pytestmark = [pytest.mark.browser, pytest.mark.long("attacks through Chromium")]

LOGIN = "/api/login/"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}
SITES = ("same_site", "cross_site")


@pytest.fixture
def signed_in(victim: Victim) -> Victim:
    victim.sign_in()
    return victim


@pytest.fixture(scope="module", autouse=True)
def cookies_of_later_tests(victim: Victim) -> Iterator[None]:
    yield
    victim.sign_in()


def session_elsewhere(victim: Victim) -> str:
    """Return the cookie of another session, such as that of an attacker with an account."""
    with plain_http.Client(base_url=victim.server.url) as client:
        answer = client.post(LOGIN, json=CREDENTIALS)
        assert answer.status_code == 200, answer.text
        return str(answer.cookies[COOKIE])


def status_with(victim: Victim, cookie: str) -> int:
    """Return the status of a request that only has this cookie header."""
    me = f"{victim.server.url}/api/users/@me/"
    return int(plain_http.get(me, headers={"cookie": cookie}).status_code)


def set_by_neighbour(victim: Victim, cookie: str) -> None:
    victim.tab.go(f"{victim.neighbour.same_site}?{quote(cookie)}")


FORM_OF = """(url, kind, fields) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", enctype: kind, action: url });
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement("input");
    Object.assign(field, { name, value });
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}"""
# A form of text with one field whose name and value are JSON when they are joined by `=`.
AS_TEXT = {json.dumps({**CREDENTIALS, "x": ""})[:-2]: '"}'}


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_other_origin_signs_a_user_in_with_a_form(
    signed_in: Victim, kind: str, site: str
) -> None:
    before = signed_in.cookie
    fields = AS_TEXT if kind == "text/plain" else CREDENTIALS
    earlier = len(signed_in.requests(LOGIN))

    signed_in.tab.go(getattr(signed_in.neighbour, site))
    signed_in.tab.leave(call(FORM_OF, signed_in.server.url + LOGIN, kind, fields))

    assert signed_in.requests(LOGIN)[earlier:] == [("POST", 403)]
    assert signed_in.cookie == before


@pytest.mark.parametrize("site", SITES)
def test_no_other_origin_signs_a_user_in_with_a_script(signed_in: Victim, site: str) -> None:
    before = signed_in.cookie
    earlier = len(signed_in.requests(LOGIN))
    options = {"mode": "no-cors", "body": json.dumps(CREDENTIALS)}

    signed_in.tab.go(getattr(signed_in.neighbour, site))
    signed_in.tab.run(call(FETCH, signed_in.server.url + LOGIN, options))

    assert signed_in.requests(LOGIN)[earlier:] == [("POST", 403)]
    assert signed_in.cookie == before


@pytest.mark.parametrize("site", SITES)
def test_no_other_origin_signs_a_user_out(signed_in: Victim, site: str) -> None:
    signed_in.tab.go(getattr(signed_in.neighbour, site))
    signed_in.tab.leave(call(FORM, signed_in.server.url + "/api/logout/", KINDS[0]))

    assert signed_in.here(WHO) == EMAIL


def test_a_cookie_cannot_be_read_by_scripts_and_is_not_sent_to_other_sites(
    signed_in: Victim,
) -> None:
    cookies = signed_in.tab.command("Network.getCookies", urls=[signed_in.server.url])["cookies"]

    [session] = [cookie for cookie in cookies if cookie["name"] == COOKIE]
    assert (session["httpOnly"], session["sameSite"], session["path"]) == (True, "Lax", "/")
    assert session["domain"] == "127.0.0.1"
    assert signed_in.here("() => document.cookie") == ""


PATHS = ("/api", "/api/", "/api/users/", "/api/users/@me/")


@pytest.mark.parametrize("path", PATHS)
def test_a_second_cookie_of_the_name_is_not_taken_for_the_session(
    signed_in: Victim, path: str
) -> None:
    """A browser sends the one with the longer path first, and tells of neither who has set it."""
    foreign = session_elsewhere(signed_in)

    set_by_neighbour(signed_in, f"{COOKIE}={foreign}; Path={path}")

    assert signed_in.here(WHO) == 401


def test_a_session_that_a_neighbour_chose_before_is_not_used_by_a_sign_in(victim: Victim) -> None:
    foreign = session_elsewhere(victim)
    victim.tab.command("Network.clearBrowserCookies")
    set_by_neighbour(victim, f"{COOKIE}={foreign}; Path=/")
    assert victim.cookie == foreign

    assert victim.here(SIGN_IN, EMAIL, PASSWORD) == 200

    assert victim.cookie != foreign
    assert status_with(victim, f"{COOKIE}={foreign}") == 401
    assert victim.here(WHO) == EMAIL


def test_a_cookie_that_was_invented_signs_no_user_in(victim: Victim) -> None:
    victim.tab.command("Network.clearBrowserCookies")
    set_by_neighbour(victim, f"{COOKIE}=invented; Path=/")

    assert victim.here(WHO) == 401
    assert victim.here(SIGN_IN, EMAIL, PASSWORD) == 200
    assert victim.cookie != "invented"
    assert status_with(victim, f"{COOKIE}=invented") == 401


def test_many_cookies_of_a_neighbour_cost_a_session_and_nothing_else(signed_in: Victim) -> None:
    fill = """() => {
      for (let n = 0; n < 400; n++) document.cookie = `n${n}=${"x".repeat(3000)}; path=/`;
    }"""
    signed_in.tab.go(signed_in.neighbour.same_site)
    signed_in.tab.run(call(fill))
    signed_in.tab.go(f"{signed_in.server.url}/_health")

    assert signed_in.tab.run(call(WHO)) == 431  # before any of it is read
    assert status_with(signed_in, "") == 401


# Targets of links on another site: a browser sends the cookie along with them.
LINKS: Mapping[str, str] = {
    "signing out": "/api/logout/",
    "signing in": f"{LOGIN}?email={EMAIL}&password={quote(PASSWORD)}",
    "a method in the query": "/api/projects/@current/?_method=DELETE",
    "a method in the query of a list": f"{FLAGS}/?method=POST&key=made-by-a-link",
    "creating by GET": f"{FLAGS}/?key=made-by-a-link",
}


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("link", LINKS)
def test_a_link_of_another_origin_changes_nothing(signed_in: Victim, link: str, site: str) -> None:
    before = signed_in.cookie

    signed_in.tab.go(getattr(signed_in.neighbour, site))
    signed_in.tab.leave(f"location.href = {json.dumps(signed_in.server.url + LINKS[link])}")

    assert signed_in.cookie == before
    assert signed_in.here(WHO) == EMAIL
    assert (
        signed_in.here(f"async () => (await (await fetch('{FLAGS}/?search=made-by')).json()).count")
        == 0
    )


@pytest.mark.parametrize("site", SITES)
def test_a_link_of_another_origin_to_a_change_changes_nothing(signed_in: Victim, site: str) -> None:
    path = signed_in.create_flag()

    signed_in.tab.go(getattr(signed_in.neighbour, site))
    signed_in.tab.leave(f"location.href = {json.dumps(signed_in.server.url + path)}")

    assert {method for method, _ in signed_in.requests(path)} == {"GET"}
    assert not signed_in.is_changed(path)
