"""Requests that a page of another origin can make in the browser of a user who is signed in.

The server and the Chromium are real.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.clients.victim import EMAIL, WHO, Victim, call
from tests.support.awaited import until

pytestmark = [pytest.mark.browser, pytest.mark.long("attacks through Chromium")]

FORM = """(url, kind) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", enctype: kind, action: url });
  document.body.append(form);
  form.submit();
}"""
# The page stays, and the response is loaded inside it or in another window.
FRAMED_FORM = """(url, kind) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.name = "hidden" + Math.random();
  document.body.append(frame);
  frame.onload = () => done();
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", enctype: kind, action: url, target: frame.name });
  document.body.append(form);
  form.submit();
})"""
WINDOW_FORM = """(url, kind) => {
  const name = "popup" + Math.random();
  window.open("", name);
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", enctype: kind, action: url, target: name });
  document.body.append(form);
  form.submit();
}"""
FETCH = """async (url, options) => {
  try {
    return (await fetch(url, { method: "POST", credentials: "include", ...options })).type;
  } catch (error) {
    return error.name;
  }
}"""
BEACON = """(url) => navigator.sendBeacon(url, "")"""
XHR = """(url) => new Promise((done) => {
  const request = new XMLHttpRequest();
  request.open("POST", url);
  request.withCredentials = true;
  request.onloadend = () => done(request.status);
  request.send();
})"""

OWN = {"X-Fanion-Console": "1"}
KINDS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
SENT: Mapping[str, tuple[str, Any]] = {
    **{f"form, {kind}": (FORM, kind) for kind in KINDS},
    "form in a frame": (FRAMED_FORM, KINDS[0]),
    "form in a window": (WINDOW_FORM, KINDS[2]),
    "fetch without an answer": (FETCH, {"mode": "no-cors"}),
    "fetch of text": (FETCH, {"mode": "no-cors", "headers": {"Content-Type": "text/plain"}}),
    "fetch with credentials": (FETCH, {}),
    "fetch that outlives its page": (FETCH, {"mode": "no-cors", "keepalive": True}),
    "beacon": (BEACON, None),
    "XMLHttpRequest": (XHR, None),
}
# Requests for which the browser asks the server first, which allows nothing.
ASKED: Mapping[str, Any] = {
    "our header": {"headers": OWN},
    "our header, and nothing to read": {"headers": {**OWN, "Content-Type": "text/plain"}},
    "JSON": {"headers": {"Content-Type": "application/json"}, "body": "{}"},
    "a key": {"headers": {"Authorization": "Bearer phx_x"}},
    "another method": {"method": "PUT"},
    "another method in a header": {"headers": {"X-HTTP-Method-Override": "DELETE"}},
}
SAME_SITE, CROSS_SITE = "same site", "cross site"


def page_of(victim: Victim, site: str) -> str:
    return victim.neighbour.same_site if site == SAME_SITE else victim.neighbour.cross_site


@pytest.mark.parametrize("site", [SAME_SITE, CROSS_SITE])
@pytest.mark.parametrize("attack", SENT)
def test_a_request_that_another_origin_can_send_is_refused(
    victim: Victim, attack: str, site: str
) -> None:
    script, argument = SENT[attack]
    path = victim.create_flag()

    victim.tab.go(page_of(victim, site))
    if script == FORM:
        victim.tab.leave(call(script, victim.server.url + path, argument))
    else:
        victim.tab.run(call(script, victim.server.url + path, argument))
    until(lambda: victim.requests(path), "the request did not arrive")

    # A browser sends the cookie to the same site whatever the port, and to another one with a link.
    assert victim.requests(path) == [("POST", 403 if site == SAME_SITE else 401)]
    assert not victim.is_changed(path)


@pytest.mark.parametrize("site", [SAME_SITE, CROSS_SITE])
@pytest.mark.parametrize("attack", ASKED)
def test_a_request_that_the_browser_asks_for_first_is_never_sent(
    victim: Victim, attack: str, site: str
) -> None:
    path = victim.create_flag()

    victim.tab.go(page_of(victim, site))
    seen = victim.tab.run(call(FETCH, victim.server.url + path, ASKED[attack]))

    assert seen == "TypeError"
    assert {method for method, _ in victim.requests(path)} == {"OPTIONS"}
    assert not victim.is_changed(path)


@pytest.mark.parametrize("kind", [*KINDS, "application/json", None])
def test_the_same_request_of_our_own_page_is_accepted(victim: Victim, kind: str | None) -> None:
    """This shows that the other tests can fail."""
    path = victim.create_flag()
    boundary = "; boundary=x" if kind == KINDS[1] else ""
    content = {"Content-Type": kind + boundary} if kind else {}
    body = {"body": "--x--\r\n"} if boundary else {}

    assert victim.here(FETCH, path, {"headers": {**OWN, **content}, **body}) == "basic"

    assert victim.requests(path) == [("POST", 201)]
    assert victim.is_changed(path)


@pytest.mark.parametrize("kind", KINDS)
def test_even_a_form_of_our_own_address_is_refused(victim: Victim, kind: str) -> None:
    """A form cannot send our header: markup that an attacker brings into a page changes nothing."""
    path = victim.create_flag()

    victim.tab.go(f"{victim.server.url}/_health")
    victim.tab.leave(call(FORM, path, kind))

    assert victim.requests(path) == [("POST", 403)]
    assert not victim.is_changed(path)


ELEMENT = """(url, name, attribute) => new Promise((done) => {
  const element = document.createElement(name);
  element.onload = () => done("loaded");
  element.onerror = () => done("refused");
  if (name === "link") element.rel = "stylesheet";
  element[attribute] = url;
  document.body.append(element);
})"""
FRAME = """(url) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.onload = () => {
    try { done(frame.contentWindow.document.body.textContent); } catch (error) { done(error.name); }
  };
  frame.src = url;
  document.body.append(frame);
})"""
WINDOW = """async (url) => {
  const opened = window.open(url);
  for (;;) {
    await new Promise((next) => setTimeout(next, 5));
    // Cut off by the policy of the page it shows, or already of another origin.
    if (opened.closed) return "closed";
    try { void opened.document.body; } catch (error) { return error.name; }
  }
}"""
EVENTS = """(url) => new Promise((done) => {
  const source = new EventSource(url, { withCredentials: true });
  source.onopen = () => done("open");
  source.onerror = () => { source.close(); done("refused"); };
})"""
READS: Mapping[str, tuple[str, tuple[Any, ...], set[str]]] = {
    "fetch": (FETCH, ({"method": "GET"},), {"TypeError"}),
    "fetch without an answer": (FETCH, ({"method": "GET", "mode": "no-cors"},), {"TypeError"}),
    "image": (ELEMENT, ("img", "src"), {"refused"}),
    "script": (ELEMENT, ("script", "src"), {"refused"}),
    "style": (ELEMENT, ("link", "href"), {"refused"}),
    "frame": (FRAME, (), {"SecurityError"}),
    "window": (WINDOW, (), {"SecurityError", "closed"}),
    "events": (EVENTS, (), {"refused"}),
}


@pytest.mark.parametrize("site", [SAME_SITE, CROSS_SITE])
@pytest.mark.parametrize("attack", READS)
def test_no_answer_is_read_from_another_origin(victim: Victim, attack: str, site: str) -> None:
    script, arguments, refused = READS[attack]

    victim.tab.go(page_of(victim, site))
    seen = victim.tab.run(call(script, f"{victim.server.url}/api/users/@me/", *arguments))

    assert seen in refused


def test_our_own_page_reads_it(victim: Victim) -> None:
    assert victim.here(WHO) == EMAIL
    assert victim.here(FETCH, "/api/users/@me/", {"method": "GET"}) == "basic"
