"""The page of an invite's link: a form without a script, for browsers."""

from html import escape
from typing import Any

from litestar import Response

from fanion.accounts.passwords.rules import PASSWORD_CHARS_MIN
from fanion.errors import AppError
from fanion.projects.invites import OpenInvite, masked_email
from fanion.projects.model import FIRST_NAME_CHARS_MAX
from fanion.web.form_pages import FormPages, form_page


class InvitePage(FormPages):
    """Implements `accounts.signup_api.InvitePages`."""

    def form(self, found: OpenInvite, problem: str, status: int) -> Response[Any]:
        title = f"Join {found.organization.name}"
        shown = f'<p class="bad" role="alert">{escape(problem)}</p>' if problem else ""
        return form_page(
            title,
            f"""<h1>{escape(title)}</h1>
<p>{escape(found.invite.created_by.first_name)} invites you, as
{escape(masked_email(found.invite.target_email))}.</p>{shown}
<form method="post">
<label>First name
<input name="first_name" value="{escape(found.invite.first_name)}" autocomplete="given-name"
 maxlength="{FIRST_NAME_CHARS_MAX}" required></label>
<label>Password, {PASSWORD_CHARS_MIN} characters or more
<input type="password" name="password" minlength="{PASSWORD_CHARS_MIN}"
 autocomplete="new-password" required></label>
<button>Make an account and join</button>
</form>""",
            status,
        )

    def signed_in(self, found: OpenInvite, email: str) -> Response[Any]:
        title = f"Join {found.organization.name}"
        return form_page(
            title,
            f"""<h1>{escape(title)}</h1>
<p>The invite is for {escape(masked_email(found.invite.target_email))}, and you are signed in as
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
