"""The page of a link that sets a password: a form without a script, for browsers."""

from html import escape
from typing import Any

from litestar import Response
from litestar.enums import MediaType

from fanion.accounts.passwords import PASSWORD_CHARS_MIN
from fanion.errors import AppError
from fanion.web.landing_page import prefers_html
from fanion.web.pages import html_document
from fanion.web.security_headers import content_security_policy, own_style

REFERRER_POLICY = "strict-origin"
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
# The address holds the token: it must not be told to others, kept, or framed. Without any referrer
# browsers would hide the form's own origin too, and over plain http nothing else shows it.
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": content_security_policy(own_style(_STYLE), "img-src data:").replace(
        "form-action 'none'", "form-action 'self'"
    ),
    "referrer-policy": REFERRER_POLICY,
}
_NO_ICON = '<link rel="icon" href="data:,">'


class LinkPage:
    """Implements `accounts.password_links_api.LinkPages`."""

    def is_wanted(self, accept: str) -> bool:
        return prefers_html(accept)

    def form(self, email: str, problem: str, status: int) -> Response[Any]:
        # The address has no name, so that it is not sent: it tells password managers whose this is.
        shown = f'<p class="bad" role="alert">{escape(problem)}</p>' if problem else ""
        return _page(
            "Set a password",
            f"""<h1>Set a password</h1>{shown}
<form method="post">
<label>E-mail address
<input type="email" value="{escape(email)}" autocomplete="username" readonly></label>
<label>New password, {PASSWORD_CHARS_MIN} characters or more
<input type="password" name="password" minlength="{PASSWORD_CHARS_MIN}"
 autocomplete="new-password" required autofocus></label>
<button>Set password and sign in</button>
</form>""",
            status,
        )

    def refusal(self, error: AppError) -> Response[Any]:
        return _page(
            "This link cannot be used",
            f"""<h1>This link cannot be used</h1><p role="alert">{escape(error.detail)}</p>
<p>Ask for another one, or ask the operator of this server for one
(<code>fanion users reset</code>).</p>""",
            error.status,
            dict(error.headers()),
        )

    def unfinished(self, error: AppError) -> Response[Any]:
        return _page(
            "The password is set",
            f"""<h1>The password is set</h1><p role="alert">{escape(error.detail)}</p>
<p>The link cannot be used again: sign in with the new password.</p>""",
            error.status,
            dict(error.headers()),
        )

    def done(self, response: Response[Any], base_url: str) -> Response[Any]:
        headers = {
            **response.headers,
            "location": f"{base_url}/",
            "referrer-policy": REFERRER_POLICY,
        }
        return Response(b"", status_code=303, headers=headers)


def _page(
    title: str, body: str, status: int, headers: dict[str, str] | None = None
) -> Response[Any]:
    document = html_document(title, _STYLE, f"<main>{body}</main>", _NO_ICON)
    return Response(
        document.encode(),
        status_code=status,
        media_type=MediaType.HTML,
        headers={**_HEADERS, **(headers or {})},
    )
