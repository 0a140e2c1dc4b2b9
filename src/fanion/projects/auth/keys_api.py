"""Personal API keys of the caller, and the secret key of a project, over HTTP.

Source: api.md, "Authentication"; capture.md, section 9.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct
from msgspec.structs import asdict

from fanion.errors import NotFound
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.keys import KEY_LABEL_CHARS_MAX
from fanion.projects.auth.model import PersonalKey
from fanion.projects.auth.personal_keys_service import PersonalKeyService
from fanion.projects.auth.secret_keys_service import SecretKeys
from fanion.projects.model import Level
from fanion.projects.request_api import FRESH, FormerValidS, ManagementRequest, scoped
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import MAINTAINED_OF_KEY, UNSUPPORTED_OF_KEY


class NewKey(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_KEY
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_KEY

    label: Annotated[str, Meta(min_length=1, max_length=KEY_LABEL_CHARS_MAX)]
    scopes: Annotated[
        list[str] | None,
        Meta(description="`*`, `<object>:read` or `<object>:write`; null allows everything."),
    ] = None
    expires_at: Annotated[
        datetime | None,
        Meta(description="The key is rejected from then on; null: valid until revoked."),
    ] = None


class KeyBody(PersonalKey, frozen=True, kw_only=True):
    value: Annotated[
        str | None, Meta(description="The key itself, only in the response to its creation.")
    ]


class PersonalKeysApi(Controller):
    """Key endpoints, for unrestricted keys only, except the one that says what a key may do.

    A restricted key could otherwise create a less restricted one.
    """

    path = "/api/personal_api_keys"
    tags = ("Personal API keys",)

    @get("/", summary="List personal API keys")
    async def keys(
        self, request: ManagementRequest, authentication: NamedDependency[Authentication]
    ) -> Paged[KeyBody]:
        """Return the keys of the caller, newest first."""
        page, user = request.page, request.principal.user
        rows, count = await authentication.store.list_keys(user.id, page.limit, page.offset)
        return page.with_results([_key_body(key) for key in rows], count)

    @post("/", summary="Create a personal API key", **FRESH)
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewKey],
        authentication: NamedDependency[Authentication],
    ) -> KeyBody:
        """Create a key. `value` is the key, which is not shown again.

        A key that expires can only create keys that expire no later.
        """
        key, text = await PersonalKeyService(authentication.store).create_own_key(
            request.principal, data.label, data.scopes, data.expires_at, request.app.state.now()
        )
        return _key_body(key, text)

    @get("/@current", summary="Retrieve the key of this request", any_scope=True)
    async def current_key(
        self, request: ManagementRequest, authentication: NamedDependency[Authentication]
    ) -> KeyBody:
        """Return the personal API key that makes the request, whatever its scopes."""
        key_id = request.principal.key_id
        return await _find_key(request, authentication, key_id)

    @get("/{key_id:str}", summary="Retrieve a personal API key")
    async def key(
        self,
        request: ManagementRequest,
        key_id: FromPath[UUID],
        authentication: NamedDependency[Authentication],
    ) -> KeyBody:
        return await _find_key(request, authentication, key_id)

    @delete("/{key_id:str}", summary="Revoke a personal API key", own=True, **FRESH)
    async def revoke(
        self,
        request: ManagementRequest,
        key_id: FromPath[UUID],
        authentication: NamedDependency[Authentication],
    ) -> None:
        """Revoke a key, which is invalid at once."""
        await authentication.revoke_key(request.principal.user.id, key_id)


async def _find_key(
    request: ManagementRequest, authentication: Authentication, key_id: UUID | None
) -> KeyBody:
    """Return a key of the caller.

    Raises:
        NotFound: There is no such key, or the caller has a session instead of one.
    """
    owner_id = request.principal.user.id
    key = None if key_id is None else await authentication.store.find_key(owner_id, key_id)
    if key is None:
        raise NotFound
    return _key_body(key)


def _key_body(key: PersonalKey, value: str | None = None) -> KeyBody:
    return KeyBody(**asdict(key), value=value)


class NewSecretKey(Struct, kw_only=True, forbid_unknown_fields=True):
    former_valid_s: FormerValidS = 0


class SecretKeyBody(Struct, kw_only=True):
    secret_api_key: Annotated[str, Meta(description="`phs_…`; it cannot be read later.")]


class SecretKeyStateBody(Struct, kw_only=True):
    mask_value: Annotated[
        str | None, Meta(description="The key with its middle hidden; null without a key.")
    ]
    created_at: Annotated[datetime | None, Meta(description="Null without a key.")]


class SecretKeysApi(Controller):
    path = "/api/projects/{project_id:str}/secret_key"
    tags = ("Projects",)
    opt = scoped("project")

    @get("/", summary="Say whether the project has a secret key")
    async def key_state(
        self, request: ManagementRequest, secret_keys: NamedDependency[SecretKeys]
    ) -> SecretKeyStateBody:
        """Return the masked secret key and when it was made. The key itself cannot be read."""
        state = await secret_keys.key_state(request.project.id)
        return SecretKeyStateBody(mask_value=state.mask_value, created_at=state.created_at)

    @post("/", summary="Create or rotate the project's secret key", **FRESH)
    async def rotate(
        self,
        request: ManagementRequest,
        data: RequestBody[NewSecretKey],
        secret_keys: NamedDependency[SecretKeys],
    ) -> SecretKeyBody:
        """Create or replace the key that only reads flag definitions for local evaluation.

        The current key and all former ones are revoked at once, unless `former_valid_s` keeps the
        current one valid. Requires an administrator of the organization. A key with scopes also
        needs `feature_flag:read`, which the secret key has.
        """
        request.principal.require_scope("feature_flag:read")
        request.principal.require_level(request.project.organization_id, Level.ADMIN)
        user = request.principal.user
        key = await secret_keys.rotate_key(request.project.id, user.id, data.former_valid_s)
        return SecretKeyBody(secret_api_key=key)

    @delete("/", summary="Revoke the project's secret key", **FRESH)
    async def revoke(
        self, request: ManagementRequest, secret_keys: NamedDependency[SecretKeys]
    ) -> None:
        """Revoke the secret key and all former ones."""
        request.principal.require_level(request.project.organization_id, Level.ADMIN)
        if not await secret_keys.revoke_key(request.project.id, request.principal.user.id):
            raise NotFound
