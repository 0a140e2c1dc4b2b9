"""The landing page at `/`: the product, its health, and how to send requests.

It is public: it contains addresses and states, but no key.
"""

import asyncio
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import msgspec

from fanion import __version__
from fanion.server.forwarded import BaseUrl
from fanion.server.request import Request
from fanion.server.response import Response
from fanion.web.pages import html_document
from fanion.web.probes import CheckResult, Probes, State
from fanion.web.security_headers import (
    NOT_STORED,
    content_security_policy,
    own_style,
    page_headers,
)

# A store that does not answer must not delay the page that reports it.
CHECKS_S_MAX = 2.0
ACCEPT_RANGES_MAX = 32  # media ranges of Accept that are read; browsers send eight

_STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1c2024; --soft: #f2f3f5; --line: #d5d8dd;
        --link: #0b57d0; --good: #147a3d; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181c; --text: #e7e9ec; --soft: #22262c; --line: #3b4048;
          --link: #8ab4f8; --good: #6ddc98; --bad: #ff9a92; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--back);
       max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.2; } h1 { margin: 0; } h2 { margin: 2.5rem 0 .5rem; }
h3 { margin: 1.25rem 0 .35rem; font-size: 1rem; }
a { color: var(--link); }
code, pre { font: .875rem/1.5 ui-monospace, monospace; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: .5rem; margin: 0;
      padding: .75rem; white-space: pre-wrap; }
.status { border: 1px solid var(--line); border-left: .4rem solid var(--good);
          border-radius: .5rem; padding: .6rem .9rem; margin: 1.5rem 0; }
.status.bad { border-left-color: var(--bad); }
.status strong { color: var(--good); } .status.bad strong { color: var(--bad); }
ul { padding-left: 1.2rem; }
"""
_HEADERS = (
    NOT_STORED,
    ("vary", "Accept"),
    *page_headers(content_security_policy(own_style(_STYLE), "img-src data:")),
)
# An empty icon, since browsers would request one otherwise.
_NO_ICON = '<link rel="icon" href="data:,">'
_STORES = {"records": "records store", "events": "event store", "accept_log": "accept log"}
_STATES: Mapping[State, str] = {
    State.OK: "works",
    State.OPENING: "is being opened",
    State.UNREACHABLE: "cannot be reached",
    State.FULL: "is full",
}
_QUALITY = re.compile(r"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*")

States = Mapping[str, CheckResult]


@dataclass(frozen=True, slots=True)
class LandingPage:
    """The landing page of a server.

    Attributes:
        base_url: The prefix of links to the API.
        capture_url: The address at which SDKs reach the server, if it differs.
        wait_s: The timeout of the checks of stores.
        no_console: Why this page is served instead of the console; "" if that is intended.
    """

    probes: Probes
    base_url: BaseUrl
    capture_url: str = ""
    wait_s: float = CHECKS_S_MAX
    no_console: str = ""

    async def get(self, request: Request) -> Response:
        """Answer with HTML for browsers, and JSON for other clients."""
        base_url = self.base_url.of(request.peer, request.headers)
        states = await self._states()
        if not prefers_html(request.headers.get("accept") or ""):
            summary = msgspec.json.encode(_json_summary(states, base_url))
            return Response(200, summary, _HEADERS)
        page = landing_page(states, base_url, self.capture_url or base_url, self.no_console)
        return Response(200, page.encode(), _HEADERS, "text/html; charset=utf-8")

    async def _states(self) -> States | None:
        """Return the states of the stores, or None on a timeout."""
        try:
            return await asyncio.wait_for(self.probes.check(), self.wait_s)
        except TimeoutError:
            return None


def prefers_html(accept: str) -> bool:
    """Return whether the client accepts HTML with a quality not below that of JSON.

    Source: RFC 9110 section 12.5.1.
    """
    qualities: dict[str, float] = {}
    for entry in accept.lower().split(",", ACCEPT_RANGES_MAX)[:ACCEPT_RANGES_MAX]:
        kind, *parameters = entry.split(";", 8)
        qualities.setdefault(kind.strip(), _media_quality(parameters))
    html = max(qualities.get("text/html", 0), qualities.get("application/xhtml+xml", 0))
    return html > 0 and html >= qualities.get("application/json", 0)


def _media_quality(parameters: list[str]) -> float:
    qualities = (
        matched[1] for parameter in parameters if (matched := _QUALITY.fullmatch(parameter))
    )
    return float(next(qualities, 1))


def _is_ready(states: States | None) -> bool:
    """Return whether the server is ready, by the rule of `/_ready`."""
    return states is not None and not any(
        result.is_needed and result.state != State.OK for result in states.values()
    )


def _json_summary(states: States | None, base_url: str) -> dict[str, object]:
    return {
        "name": "Fanion",
        "version": __version__,
        "status": "ready" if _is_ready(states) else "not ready",
        "checks": states and {name: result.state for name, result in states.items()},
        "documentation": f"{base_url}/api/docs/",
        "schema": f"{base_url}/api/schema/",
    }


def landing_page(
    states: States | None, base_url: str, capture_url: str, no_console: str = ""
) -> str:
    """Return the page as a whole HTML document.

    The arguments besides the states are those of `LandingPage`; URLs have no trailing slash.
    """
    snippets = "".join(
        f"<h3>{title}</h3><pre><code>{escape(code)}</code></pre>"
        for title, code in _code_snippets(capture_url).items()
    )
    return html_document(
        "Fanion",
        _STYLE,
        f"""<header><h1>Fanion</h1>
<p>Product analytics and feature flags, self-hosted. Every PostHog SDK works with this server
unchanged.</p></header>
<main>{_status_html(states)}{_no_console(no_console)}
<section><h2>Send events, ask for flags</h2>
<p>Put your project API key in place of <code>phc_…</code>: the first start issued it, and
<code>fanion projects list</code> shows it.</p>
{snippets}</section>
<section><h2>Read more</h2><ul>{_links_html(base_url)}</ul></section>
</main><footer><p>Fanion {escape(__version__)}</p></footer>""",
        _NO_ICON,
    )


def _links_html(base_url: str) -> str:
    def link(path: str, name: str) -> str:
        return f'<a href="{escape(base_url + path)}">{name}</a>'

    entries = (
        f"{link('/api/docs/', 'API documentation')}: every request, with its fields",
        f"{link('/api/schema/', 'OpenAPI document')}, for programs",
        f"Probes for load balancers: {link('/_ready', 'ready')}, {link('/_health', 'health')}",
        "Guides: <code>/docs/</code>, or the folder <code>docs</code> of the sources",
        "<code>fanion doctor</code> checks an installation and says how to correct it",
    )
    return "".join(f"<li>{entry}</li>" for entry in entries)


def _status_html(states: States | None) -> str:
    if states is None:
        text = "<strong>Not ready.</strong> Its stores do not answer in time."
        return f'<p class="status bad" role="status">{text}</p>'
    named = ", ".join(
        f"{_STORES.get(name, name)} {_STATES.get(result.state, result.state)}"
        for name, result in states.items()
    )
    if all(result.state == State.OK for result in states.values()):
        text = f"<strong>Ready.</strong> This server is healthy: {named}."
        return f'<p class="status" role="status">{text}</p>'
    ready = "Ready for captures and flags" if _is_ready(states) else "Not ready"
    text = f"<strong>{ready}:</strong> {named}. See the server's log for the reason."
    return f'<p class="status bad" role="status">{text}</p>'


def _no_console(reason: str) -> str:
    if not reason:
        return ""
    return f"""<section><h2>The web console is missing</h2>
<p>{escape(reason)} <code>make console</code> builds it, in a checkout of the sources; start the
server again after that. Everything else works without it.</p></section>"""


def _code_snippets(url: str) -> Mapping[str, str]:
    """Return code snippets by title.

    URLs are quoted for each language: a path may contain characters special to a shell.
    """
    text = msgspec.json.encode(url).decode()
    event = '{"api_key": "phc_…", "event": "signed up", "distinct_id": "user-1"}'
    person = '{"api_key": "phc_…", "distinct_id": "user-1"}'
    return {
        "Browser (posthog-js)": f"""import posthog from "posthog-js"

posthog.init("phc_…", {{ api_host: {text} }})
posthog.capture("signed up")
posthog.onFeatureFlags(() => posthog.isFeatureEnabled("new-checkout"))""",
        "Python": f"""from posthog import Posthog

posthog = Posthog("phc_…", host={text})
posthog.capture("signed up", distinct_id="user-1")
posthog.evaluate_flags("user-1").is_enabled("new-checkout")
posthog.shutdown()""",
        "curl": f"""curl -d '{event}' \\
  {shlex.quote(url + "/capture/")}

curl -d '{person}' \\
  {shlex.quote(url + "/flags/?v=2")}""",
    }
