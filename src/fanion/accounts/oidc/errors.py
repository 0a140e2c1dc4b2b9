"""Errors of a sign-in by OpenID Connect, as the browser gets them."""

from fanion.errors import AppError, PermissionDenied, Unavailable

NO_ACCOUNT = (
    "There is no account for you here, or it cannot be used. Ask an administrator of Fanion to "
    "invite you."
)


class ProviderUnavailable(Unavailable):
    """The provider is down, slow or refuses connections. None of its responses are kept."""

    default_code = "oidc_provider_unavailable"
    default_detail = "The identity provider does not answer. Please try again later."


class ProviderInvalid(AppError):
    """The provider's response does not conform to OpenID Connect."""

    status, type, default_code = 502, "server_error", "oidc_provider_invalid"
    default_detail = "The identity provider's answer cannot be used."


class StateInvalid(PermissionDenied):
    default_code = "oidc_state_invalid"
    default_detail = (
        "This sign-in has expired, has already been completed, or was begun in another browser. "
        "Please begin again."
    )


class SignInDenied(PermissionDenied):
    """The provider, or the user at the provider, denied the sign-in."""

    default_code = "oidc_denied"
    default_detail = "The identity provider did not sign you in."


class TokenInvalid(PermissionDenied):
    """The provider's response does not prove who the user is; the detail says why."""

    default_code = "oidc_token_invalid"
    default_detail = "The identity provider's answer could not be verified."


class NoAccount(PermissionDenied):
    """Raised alike for missing accounts and for accounts that may not be used."""

    default_code = "oidc_no_account"
    default_detail = NO_ACCOUNT


class WrongAccount(PermissionDenied):
    """Another user has signed in than the one who was asked for a fresh sign-in."""

    default_code = "oidc_wrong_account"
    default_detail = "You signed in to the identity provider as another user."


class OidcOff(AppError):
    status, type, default_code = 404, "invalid_request", "oidc_off"
    default_detail = "Sign-in by OpenID Connect is not set up."
