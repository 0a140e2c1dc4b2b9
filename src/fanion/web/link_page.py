"""The page of a link that sets a password: a form without a script, for browsers."""

from html import escape
from typing import Any

from litestar import Response

from fanion.accounts.passwords.rules import PASSWORD_CHARS_MIN
from fanion.errors import AppError
from fanion.web.form_pages import FormPages, form_page


class LinkPage(FormPages):
    """Implements `accounts.passwords.links_api.LinkPages`."""

    def form(self, email: str, problem: str, status: int) -> Response[Any]:
        # The address has no name, so that it is not sent: it tells password managers whose this is.
        shown = f'<p class="bad" role="alert">{escape(problem)}</p>' if problem else ""
        return form_page(
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
