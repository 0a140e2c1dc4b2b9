"""Requests of other origins where browsers send no `Sec-Fetch-Site`.

They are made over http, to a server that is reached by a name, as in many company networks.
"""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from fanion.accounts.links_store import LinkStore
from fanion.accounts.model import Purpose
from fanion.accounts.users_store import AccountStore
from fanion.db.engine import open_records
from fanion.runtime.clock import utc_now
from tests.clients.test_foreign_cookies import CREDENTIALS, FORM_OF, LOGIN
from tests.clients.test_forged_requests import FETCH, FORM, KINDS, OWN
from tests.clients.victim import COHORTS, COOKIE, EMAIL, PASSWORD, SIGN_IN, WHO, Victim, call
from tests.support.awaited import until

pytestmark = [pytest.mark.browser, pytest.mark.long("attacks through Chromium")]

# Another origin of the same site, which the browser sends cookies to, and another site.
HOSTS = ("evil.fanion.test", "evil.test")
# Policies of an attacker's page, which may hide where it is.
POLICIES = ("unsafe-url", "no-referrer")
HIDE = """(policy) => {
  document.head.insertAdjacentHTML("beforeend", `<meta name="referrer" content="${policy}">`);
}"""


@pytest.fixture(scope="module")
def named(victim: Victim) -> Iterator[Victim]:
    assert victim.here(SIGN_IN, EMAIL, PASSWORD, base=victim.by_name) == 200
    yield victim
    victim.sign_in()


def visit(named: Victim, host: str, policy: str = "") -> None:
    named.tab.go(f"http://{host}:{named.neighbour.port}/")
    if policy:
        named.tab.run(call(HIDE, policy))


def test_our_own_page_is_known_by_its_origin(named: Victim) -> None:
    path = named.create_flag()

    seen = named.here(FETCH, path, {"headers": OWN}, base=named.by_name)

    assert seen == "basic"
    assert named.requests(path) == [("POST", 201)]
    assert named.is_changed(path)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("host", HOSTS)
def test_a_form_of_another_origin_is_refused(
    named: Victim, host: str, kind: str, policy: str
) -> None:
    path = named.create_flag()

    visit(named, host, policy)
    named.tab.leave(call(FORM, named.by_name + path, kind))

    assert named.requests(path) == [("POST", 403 if host == HOSTS[0] else 401)]
    assert not named.is_changed(path)


@pytest.mark.parametrize("host", HOSTS)
def test_a_script_of_another_origin_is_refused(named: Victim, host: str) -> None:
    path = named.create_flag()

    visit(named, host)
    named.tab.run(call(FETCH, named.by_name + path, {"mode": "no-cors"}))
    until(lambda: named.requests(path), "the request did not arrive")

    assert named.requests(path) == [("POST", 403 if host == HOSTS[0] else 401)]
    assert not named.is_changed(path)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("host", HOSTS)
def test_no_other_origin_signs_a_user_in(named: Victim, host: str, policy: str) -> None:
    before = named.tab.cookies(named.by_name)[COOKIE]
    earlier = len(named.requests(LOGIN))

    visit(named, host, policy)
    named.tab.leave(call(FORM_OF, named.by_name + LOGIN, KINDS[0], CREDENTIALS))

    assert named.requests(LOGIN)[earlier:] == [("POST", 403)]
    assert named.tab.cookies(named.by_name)[COOKIE] == before


@pytest.mark.parametrize("host", HOSTS)
def test_a_link_that_would_change_something_is_refused(named: Victim, host: str) -> None:
    """Nothing in the request distinguishes it from a typed address."""
    cohort = named.here(CREATE, f"{COHORTS}/", {"name": "Linked"}, base=named.by_name)
    path = f"{COHORTS}/{cohort}/duplicate_as_static_cohort/"

    visit(named, host)
    named.tab.leave(f"location.href = {json.dumps(named.by_name + path)}")

    assert named.requests(path) == [("GET", 403)]
    assert named.here(WHO, base=named.by_name) == EMAIL
    assert named.here(FETCH, path, {"method": "GET", "headers": OWN}, base=named.by_name) == "basic"
    assert named.requests(path) == [("GET", 403), ("GET", 200)]


SET_PASSWORD = """(password) => {
  document.querySelector("input[name=password]").value = password;
  document.querySelector("form").submit();
}"""


async def create_link(named: Victim) -> str:
    """Create a link as the operator does beside the running server."""
    records = await open_records(f"sqlite:///{named.server.data / 'records.db'}")
    try:
        account = await AccountStore(records).by_email(EMAIL)
        assert account is not None
        lasts = timedelta(hours=1)
        return await LinkStore(records).create_link(
            Purpose.RESET, account.user_id, utc_now(), lasts
        )
    finally:
        await records.close()


@pytest.mark.parametrize("is_named", [True, False])
def test_the_form_of_a_link_is_one_of_our_own_pages(named: Victim, is_named: bool) -> None:
    base = named.by_name if is_named else named.server.url
    token = asyncio.run(create_link(named))
    named.tab.command("Network.clearBrowserCookies")

    named.tab.go(f"{base}/api/reset/{token}/")
    named.tab.leave(call(SET_PASSWORD, PASSWORD))

    # The console, where it is built, continues to the project at once.
    assert named.tab.url.removesuffix("project/1") == f"{base}/"
    assert named.here(WHO, base=base) == EMAIL


CREATE = """async (path, body) => {
  const headers = { "Content-Type": "application/json", "X-Fanion-Console": "1" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  return (await answer.json()).id;
}"""
