"""What a page must know before anybody has signed in.

source: PostHog's `/_preflight`
"""

from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency
from msgspec import Meta, Struct

from fanion.accounts.sign_in_service import SignIn

REALM = "hosted-clickhouse"  # of every PostHog that is not their cloud


class PreflightBody(Struct, kw_only=True):
    initiated: Annotated[bool, Meta(description="Whether there is an organization.")] = True
    realm: str = REALM
    cloud: bool = False
    demo: bool = False
    can_create_org: bool = False
    email_service_available: Annotated[bool, Meta(description="Whether links can be mailed.")]
    available_social_auth_providers: dict[str, bool]
    password_sign_in: bool


class PreflightApi(Controller):
    path = "/_preflight"
    tags = ("Sign-in",)

    @get("/", summary="Read how people can sign in", public=True, security=[{}])
    async def preflight(self, sign_in: NamedDependency[SignIn]) -> PreflightBody:
        """The same for everybody."""
        options = sign_in.options
        return PreflightBody(
            email_service_available=options.mail,
            available_social_auth_providers=dict.fromkeys(options.providers, True),
            password_sign_in=options.password,
        )
