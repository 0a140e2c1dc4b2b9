"""The pages for links with a token: one sets a password, the other accepts an invite.

They have a form and no script, for browsers that open such a link.
"""

from html import escape
from typing import Any
from urllib.parse import quote

from litestar import Response
from litestar.enums import MediaType

from fanion.accounts.passwords.rules import PASSWORD_CHARS_MIN
from fanion.errors import AppError
from fanion.projects.invites.model import OpenInvite, masked_email
from fanion.projects.model import FIRST_NAME_CHARS_MAX
from fanion.web.landing_page import prefers_html
from fanion.web.pages import html_document
from fanion.web.security_headers import content_security_policy, own_style

# With no referrer at all, browsers would send the form with `Origin: null`, which is refused.
_REFERRER_POLICY = "strict-origin"
# The colours, the font and the sizes are those of the console's sign-in page.
_STYLE = """
:root { color-scheme: light dark; --canvas: #f7f7f5; --panel: #ffffff; --sunken: #efefec;
        --line-strong: #8d8a83; --ink: #1d1c1a; --ink-2: #55524c; --accent: #b8400f;
        --accent-hover: #9a340b; --accent-ink: #ffffff; --accent-text: #a8390c; --bad: #b3261e;
        --bad-soft: #fce8e6; --focus: #1d5fae; }
@media (prefers-color-scheme: dark) {
  :root { --canvas: #151516; --panel: #1d1d1f; --sunken: #29292c; --line-strong: #8a8a90;
          --ink: #f1f0ee; --ink-2: #c2c0bb; --accent: #f0824f; --accent-hover: #f69a6e;
          --accent-ink: #1d0f08; --accent-text: #f59a72; --bad: #ff9c93; --bad-soft: #47211f;
          --focus: #8ab8f5; } }
* { box-sizing: border-box; margin: 0; }
html { font-size: 15px; background: var(--canvas); color: var(--ink); }
body { font-family: ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif;
       font-size: .9375rem; line-height: 1.45; overflow-wrap: anywhere; }
main { display: flex; flex-direction: column; justify-content: center; gap: 1.25rem; width: 100%;
       max-width: 24rem; min-height: 100vh; min-height: 100dvh; margin: 0 auto;
       padding: 2.5rem 1rem; }
.brand { display: flex; align-items: center; gap: .5rem; font-size: 1.5rem; font-weight: 600; }
.brand svg { width: 1.75rem; height: 1.75rem; fill: var(--accent); }
h1 { font-size: 1.125rem; font-weight: 600; }
form { display: flex; flex-direction: column; gap: 1rem; }
label { font-weight: 500; }
input, button { display: block; width: 100%; font: inherit; border-radius: .375rem; }
input { margin-top: .25rem; padding: .375rem .625rem; border: 1px solid var(--line-strong);
        font-weight: 400; color: inherit; background: var(--panel); }
input[readonly] { color: var(--ink-2); background: var(--sunken); }
button { padding: .375rem .75rem; border: 1px solid transparent; font-weight: 500;
         color: var(--accent-ink); background: var(--accent); cursor: pointer; }
button:hover { background: var(--accent-hover); }
a { color: var(--accent-text); }
code { font-family: ui-monospace, "SF Mono", "Cascadia Code", "DejaVu Sans Mono", monospace;
       font-size: .9em; }
.hint { font-weight: 400; color: var(--ink-2); }
.bad { padding: .5rem .75rem; border-radius: .375rem; color: var(--bad);
       background: var(--bad-soft); }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; border-radius: 4px; }
@media (pointer: coarse) { input { font-size: 16px; } button { min-height: 2.25rem; } }
"""
_FLAG = '<path d="M7 4h19l-6 7 6 7H10v10H7z"/>'
_BRAND = f"""<p class="brand"><svg aria-hidden="true" viewBox="0 0 32 32">{_FLAG}</svg>Fanion</p>"""
_ICON = f"""<link rel="icon" href="data:image/svg+xml,{
    quote(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="#e0562f">{_FLAG}</svg>'
    )
}">"""
# The address contains the token: other sites must not get it, and no cache or frame may have it.
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": content_security_policy(own_style(_STYLE), "img-src data:").replace(
        "form-action 'none'", "form-action 'self'"
    ),
    "referrer-policy": _REFERRER_POLICY,
}


class FormPages:
    """The common part of the pages for links."""

    def is_wanted(self, accept: str) -> bool:
        return prefers_html(accept)

    def done(self, response: Response[Any], base_url: str) -> Response[Any]:
        """Redirect to the server's root with the response's headers, which begin a session."""
        headers = {
            **response.headers,
            "location": f"{base_url}/",
            "referrer-policy": _REFERRER_POLICY,
        }
        return Response(b"", status_code=303, headers=headers)


def form_page(
    title: str, body: str, status: int, headers: dict[str, str] | None = None
) -> Response[Any]:
    """Return a page with a form.

    Args:
        body: HTML.
    """
    document = html_document(title, _STYLE, f"<main>{_BRAND}{body}</main>", _ICON)
    return Response(
        document.encode(),
        status_code=status,
        media_type=MediaType.HTML,
        headers={**_HEADERS, **(headers or {})},
    )


class LinkPage(FormPages):
    """The page that sets a password; implements `accounts.passwords.links_api.LinkPages`."""

    def form(self, email: str, problem: str, status: int) -> Response[Any]:
        # The address field has no name, so that it is not sent: it tells password managers whose
        # account this is.
        problem_html = f'<p class="bad" role="alert">{escape(problem)}</p>' if problem else ""
        return form_page(
            "Set a password",
            f"""<h1>Set a password</h1>{problem_html}
<form method="post">
<label>E-mail address
<input type="email" value="{escape(email)}" autocomplete="username" readonly></label>
<label>New password <span class="hint">({PASSWORD_CHARS_MIN} characters or more)</span>
<input type="password" name="password" minlength="{PASSWORD_CHARS_MIN}"
 autocomplete="new-password" required autofocus></label>
<button>Set password and sign in</button>
</form>""",
            status,
        )

    def refusal(self, error: AppError, base_url: str) -> Response[Any]:
        return form_page(
            "This link cannot be used",
            f"""<h1>This link cannot be used</h1>
<p class="bad" role="alert">{escape(error.detail)}</p>
<p>If you have a password, <a href="{escape(base_url)}/">sign in</a>. “Forgot your password?” there
says how to get another link.</p>""",
            error.status,
            dict(error.headers()),
        )

    def unfinished(self, error: AppError, base_url: str) -> Response[Any]:
        return form_page(
            "The password is set",
            f"""<h1>The password is set</h1><p role="alert">{escape(error.detail)}</p>
<p><a href="{escape(base_url)}/">Sign in with the new password.</a> The link does not work
again.</p>""",
            error.status,
            dict(error.headers()),
        )


class InvitePage(FormPages):
    """The page that accepts an invite; implements `accounts.signup_api.InvitePages`."""

    def form(
        self, open_invite: OpenInvite, first_name: str, problem: str, status: int
    ) -> Response[Any]:
        title = f"Join {open_invite.organization.name}"
        problem_html = f'<p class="bad" role="alert">{escape(problem)}</p>' if problem else ""
        return form_page(
            title,
            f"""<h1>{escape(title)}</h1>
<p>{escape(open_invite.invite.created_by.first_name)} invites you, as
{escape(masked_email(open_invite.invite.target_email))}.</p>{problem_html}
<form method="post">
<label>First name
<input name="first_name" value="{escape(first_name)}" autocomplete="given-name"
 maxlength="{FIRST_NAME_CHARS_MAX}" required></label>
<label>Password <span class="hint">({PASSWORD_CHARS_MIN} characters or more)</span>
<input type="password" name="password" minlength="{PASSWORD_CHARS_MIN}"
 autocomplete="new-password" required></label>
<button>Create account and join</button>
</form>""",
            status,
        )

    def signed_in(self, open_invite: OpenInvite, email: str, base_url: str) -> Response[Any]:
        title = f"Join {open_invite.organization.name}"
        invited = masked_email(open_invite.invite.target_email)
        return form_page(
            title,
            f"""<h1>{escape(title)}</h1>
<p>The invite is for {escape(invited)}, and you are signed in as
{escape(email)}.</p>
<p>To accept it with another account, sign out in <a href="{escape(base_url)}/">Fanion</a>, then
open this link again.</p>""",
            200,
        )

    def refusal(self, error: AppError, base_url: str) -> Response[Any]:
        return form_page(
            "This invite cannot be accepted",
            f"""<h1>This invite cannot be accepted</h1>
<p class="bad" role="alert">{escape(error.detail)}</p>
<p>If you have an account, <a href="{escape(base_url)}/">sign in</a>.</p>""",
            error.status,
            dict(error.headers()),
        )
