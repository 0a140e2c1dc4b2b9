"""Pages with a form and without a script, for browsers that open a link with a token."""

from typing import Any

from litestar import Response
from litestar.enums import MediaType

from fanion.web.landing_page import prefers_html
from fanion.web.pages import html_document
from fanion.web.security_headers import content_security_policy, own_style

# Without any referrer browsers would send the form with `Origin: null`, which is refused.
_REFERRER_POLICY = "strict-origin"
_STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1c2024; --line: #6b7280; --bad: #b3261e;
        --button: #0b57d0; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181c; --text: #e7e9ec; --line: #9aa1ab; --bad: #ff9a92; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--back);
       max-width: 26rem; margin: 0 auto; padding: 3rem 1rem; overflow-wrap: anywhere; }
label, input, button { display: block; width: 100%; font: inherit; }
input { margin: .25rem 0 1rem; padding: .5rem; border: 1px solid var(--line);
        border-radius: .35rem; color: inherit; background: transparent; }
button { padding: .6rem; border: 0; border-radius: .35rem; color: #fff; background: var(--button); }
.bad { color: var(--bad); }
"""
# The address holds the token: other sites must not get it, and no cache or frame may have it.
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": content_security_policy(own_style(_STYLE), "img-src data:").replace(
        "form-action 'none'", "form-action 'self'"
    ),
    "referrer-policy": _REFERRER_POLICY,
}
_NO_ICON = '<link rel="icon" href="data:,">'


class FormPages:
    """What the pages of all links do alike."""

    def is_wanted(self, accept: str) -> bool:
        return prefers_html(accept)

    def done(self, response: Response[Any], base_url: str) -> Response[Any]:
        """Leads on with the headers of the response, which begin a session."""
        headers = {
            **response.headers,
            "location": f"{base_url}/",
            "referrer-policy": _REFERRER_POLICY,
        }
        return Response(b"", status_code=303, headers=headers)


def form_page(
    title: str, body: str, status: int, headers: dict[str, str] | None = None
) -> Response[Any]:
    """body: HTML"""
    document = html_document(title, _STYLE, f"<main>{body}</main>", _NO_ICON)
    return Response(
        document.encode(),
        status_code=status,
        media_type=MediaType.HTML,
        headers={**_HEADERS, **(headers or {})},
    )
