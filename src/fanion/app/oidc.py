"""Builds the sign-in by OpenID Connect, where the operator has set a provider."""

import time

from fanion.accounts.oidc.api import OidcLogin
from fanion.accounts.oidc.identities_store import IdentityStore
from fanion.accounts.oidc.model import OidcSettings
from fanion.accounts.oidc.start_limit_cache import StartLimit
from fanion.accounts.oidc.states_store import StateStore
from fanion.accounts.sign_in_service import SignIn
from fanion.app.services import AppContext
from fanion.config import Settings
from fanion.db.engine import Records
from fanion.runtime.secret_file import read_secret
from fanion.webhooks.client import Resolver


def build_oidc_login(context: AppContext, records: Records, sign_in: SignIn) -> OidcLogin:
    """raises: SettingsError for a secret that cannot be read"""
    clock = time.monotonic
    settings = oidc_settings(context.settings)
    if settings is None:
        return OidcLogin(None, sign_in, StartLimit(clock))
    # What verifies tokens takes 10 MB and a tenth of a second, which others need not have.
    from fanion.accounts.oidc.provider_client import Provider
    from fanion.accounts.oidc.sign_in_service import OidcSignIn

    oidc = OidcSignIn(
        settings,
        Provider(settings, Resolver(), clock),
        StateStore(records),
        IdentityStore(records, settings),
        context.now,
    )
    return OidcLogin(oidc, sign_in, StartLimit(clock))


def oidc_settings(settings: Settings) -> OidcSettings | None:
    """None where no provider is set. raises: SettingsError"""
    if not settings.oidc_issuer:
        return None
    return OidcSettings(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=read_secret(
            "OIDC_CLIENT_SECRET_FILE",
            settings.oidc_client_secret,
            settings.oidc_client_secret_file,
        ),
        scopes=settings.oidc_scopes,
        domains=settings.oidc_trusted_domains,
        groups_claim=settings.oidc_groups_claim,
        groups=settings.oidc_group_access,
        creates_accounts=settings.oidc_create_accounts,
    )
