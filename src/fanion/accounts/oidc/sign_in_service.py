"""Signing in by OpenID Connect: to the provider and back."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from fanion.accounts.oidc.authorization import (
    FRESH_MAX_AGE_S,
    PARAMETER_CHARS_MAX,
    BrowserSecret,
    Callback,
    authorization_url,
)
from fanion.accounts.oidc.errors import (
    NoAccount,
    SignInDenied,
    StateInvalid,
    TokenInvalid,
    WrongAccount,
)
from fanion.accounts.oidc.id_token import Expected
from fanion.accounts.oidc.identities_store import IdentityStore
from fanion.accounts.oidc.model import OidcIdentity, OidcSettings, lacks_claims, read_identity
from fanion.accounts.oidc.provider_client import Provider
from fanion.accounts.oidc.states_store import BegunSignIn, StateStore
from fanion.errors import AppError

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Redirect:
    """The redirect that begins a sign-in.

    Attributes:
        url: At the provider.
        browser_secret: For the browser's cookie.
    """

    url: str
    browser_secret: str


@dataclass(frozen=True, slots=True)
class SignedInUser:
    """A user who has signed in at the provider.

    Attributes:
        return_path: The path of this server to which the browser goes.
    """

    user_id: int
    return_path: str


@dataclass(frozen=True, slots=True)
class OidcSignIn:
    settings: OidcSettings
    provider: Provider
    states: StateStore
    identities: IdentityStore
    now: Callable[[], datetime]

    async def begin(self, redirect_uri: str, begun: BegunSignIn) -> Redirect:
        """Begin a sign-in. If the provider cannot be used, nothing is stored.

        Raises:
            ProviderUnavailable: The provider does not answer.
            ProviderInvalid: The provider's response cannot be used.
        """
        metadata = await self.provider.metadata()
        state, browser = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(2))
        secret, is_fresh = BrowserSecret(browser), begun.user_id is not None
        url = authorization_url(
            metadata, self.settings, redirect_uri, state, secret, fresh=is_fresh
        )
        await self.states.add_state(state, browser, begun, self.now())
        return Redirect(url, browser)

    async def complete(
        self, callback: Callback, browser: str | None, redirect_uri: str
    ) -> SignedInUser:
        """Complete a sign-in with the parameters of the callback.

        Args:
            browser: The secret in the browser's cookie; None without a cookie.

        Raises:
            StateInvalid: The sign-in has expired, was completed, or was begun in another browser.
            SignInDenied: The provider did not sign the user in.
            TokenInvalid: The provider's response does not prove who the user is.
            NoAccount: The user has no account, or may not use it.
            WrongAccount: Another user has signed in than the one who had to sign in again.
            ProviderUnavailable: The provider does not answer.
            ProviderInvalid: The provider's response cannot be used.
        """
        try:
            return await self._complete(callback, browser, redirect_uri)
        except AppError as error:
            log = structlog.get_logger()
            log.warning("oidc_sign_in_refused", code=error.code, reason=error.detail)
            raise

    async def _complete(
        self, callback: Callback, browser: str | None, redirect_uri: str
    ) -> SignedInUser:
        begun = await self._consume_state(callback, browser)
        assert browser is not None
        await self._require_issuer(callback.issuer)
        if callback.error or not callback.code:
            raise SignInDenied
        secret = BrowserSecret(browser)
        is_fresh = begun.user_id is not None
        identity = await self._identify_user(callback.code, secret, redirect_uri, is_fresh=is_fresh)
        user_id = await self.identities.user_of(identity, self.now())
        if user_id is None:
            raise NoAccount
        if begun.user_id not in (None, user_id):
            raise WrongAccount
        return SignedInUser(user_id, begun.return_path)

    async def _consume_state(self, callback: Callback, browser: str | None) -> BegunSignIn:
        if callback.is_too_long or not callback.state or not browser:
            raise StateInvalid
        if len(browser) > PARAMETER_CHARS_MAX:
            raise StateInvalid
        begun = await self.states.consume_state(callback.state, browser, self.now())
        if begun is None:
            raise StateInvalid
        return begun

    async def _require_issuer(self, issuer: str) -> None:
        """Raise TokenInvalid for a response of another provider (RFC 9207 section 2.4)."""
        metadata = await self.provider.metadata()
        if issuer != metadata.issuer and (issuer or metadata.names_issuer):
            raise TokenInvalid("The answer is from another identity provider.")

    async def _identify_user(
        self, code: str, secret: BrowserSecret, redirect_uri: str, *, is_fresh: bool
    ) -> OidcIdentity:
        settings = self.settings
        tokens = await self.provider.redeem(code, secret.verifier, redirect_uri)
        expected = Expected(
            settings.issuer,
            settings.client_id,
            secret.nonce,
            self.now(),
            FRESH_MAX_AGE_S if is_fresh else None,
        )
        claims = await self.provider.verify(tokens.id_token, expected)
        info: Mapping[str, Any] = {}
        if lacks_claims(claims, settings):
            info = await self.provider.user_info(tokens.access_token, claims["sub"])
        return read_identity(claims, info, settings)
