"""The pages for links with a token: one sets a password, the other accepts an invite.

They have a form and no script, for browsers that open such a link.
"""

from html import escape
from typing import Any

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
# The address contains the token: other sites must not get it, and no cache or frame may have it.
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": content_security_policy(own_style(_STYLE), "img-src data:").replace(
        "form-action 'none'", "form-action 'self'"
    ),
    "referrer-policy": _REFERRER_POLICY,
}
_NO_ICON = '<link rel="icon" href="data:,">'


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
    document = html_document(title, _STYLE, f"<main>{body}</main>", _NO_ICON)
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
<label>New password, {PASSWORD_CHARS_MIN} characters or more
<input type="password" name="password" minlength="{PASSWORD_CHARS_MIN}"
 autocomplete="new-password" required autofocus></label>
<button>Set password and sign in</button>
</form>""",
            status,
        )

    def refusal(self, error: AppError) -> Response[Any]:
        return form_page(
            "This link cannot be used",
            f"""<h1>This link cannot be used</h1><p role="alert">{escape(error.detail)}</p>
<p>Ask for another one, or ask the operator of this server for one
(<code>fanion users reset</code>).</p>""",
            error.status,
            dict(error.headers()),
        )

    def unfinished(self, error: AppError) -> Response[Any]:
        return form_page(
            "The password is set",
            f"""<h1>The password is set</h1><p role="alert">{escape(error.detail)}</p>
<p>The link cannot be used again: sign in with the new password.</p>""",
            error.status,
            dict(error.headers()),
        )


class InvitePage(FormPages):
    """The page that accepts an invite; implements `accounts.signup_api.InvitePages`."""

    def form(self, open_invite: OpenInvite, problem: str, status: int) -> Response[Any]:
        title = f"Join {open_invite.organization.name}"
        problem_html = f'<p class="bad" role="alert">{escape(problem)}</p>' if problem else ""
        return form_page(
            title,
            f"""<h1>{escape(title)}</h1>
<p>{escape(open_invite.invite.created_by.first_name)} invites you, as
{escape(masked_email(open_invite.invite.target_email))}.</p>{problem_html}
<form method="post">
<label>First name
<input name="first_name" value="{escape(open_invite.invite.first_name)}" autocomplete="given-name"
 maxlength="{FIRST_NAME_CHARS_MAX}" required></label>
<label>Password, {PASSWORD_CHARS_MIN} characters or more
<input type="password" name="password" minlength="{PASSWORD_CHARS_MIN}"
 autocomplete="new-password" required></label>
<button>Make an account and join</button>
</form>""",
            status,
        )

    def signed_in(self, open_invite: OpenInvite, email: str) -> Response[Any]:
        title = f"Join {open_invite.organization.name}"
        invited = masked_email(open_invite.invite.target_email)
        return form_page(
            title,
            f"""<h1>{escape(title)}</h1>
<p>The invite is for {escape(invited)}, and you are signed in as
{escape(email)}. With this account, accept it from where you are signed in. To make another account,
sign out, and open this link again.</p>""",
            200,
        )

    def refusal(self, error: AppError) -> Response[Any]:
        return form_page(
            "This invite cannot be accepted",
            f'<h1>This invite cannot be accepted</h1><p role="alert">{escape(error.detail)}</p>',
            error.status,
            dict(error.headers()),
        )
