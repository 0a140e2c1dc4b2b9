"""Who may read a project's flag definitions: its secret key, or a personal key of a member."""

from collections.abc import Mapping
from dataclasses import dataclass

from fanion.db.engine import RecordsUnavailable
from fanion.errors import NotAuthenticated, NotFound, PermissionDenied, Unavailable
from fanion.projects.auth.authentication import Authentication
from fanion.projects.auth.keys import bearer_key, hash_key, mask
from fanion.projects.auth.secret_keys import SecretKeys
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.wire.endpoint import Request

CURRENT = "@current"
SCOPE = "feature_flag:read"


@dataclass(frozen=True, slots=True)
class Grant:
    """That a key reads a project's definitions, as long as it does. hashed: the key"""

    project_id: int
    hashed: str
    is_secret: bool


@dataclass(frozen=True, slots=True)
class DefinitionReaders:
    projects: Projects
    authentication: Authentication
    secret_keys: SecretKeys

    async def project(
        self, request: Request, query: Mapping[str, str], named: str = CURRENT
    ) -> Project:
        """The project of the query's `token`, else the one named, else the key's own.

        named:  a number, or `@current`
        raises: NotAuthenticated, InvalidPersonalApiKey, InvalidApiKey, PermissionDenied,
                NotFound, Unavailable
        source: flags.md section 15; sdk-wire.md sections 5.1 and 6
        """
        project, _ = await self.granted(request, query, named)
        return project

    async def granted(
        self, request: Request, query: Mapping[str, str], named: str
    ) -> tuple[Project, Grant]:
        """As `project`, for those who read for longer than a request takes."""
        key, place = _key(request, query)
        try:
            project = await self._project(request, query, named, key, place)
        except RecordsUnavailable:
            raise Unavailable from None
        is_secret = request.user_id is None
        return project, Grant(project.id, hash_key(key), is_secret)

    async def holds(self, grant: Grant) -> bool:
        """Whether the key would be let in now. raises: RecordsUnavailable"""
        project = await self.projects.by_id(grant.project_id)
        if project is None:
            return False
        if grant.is_secret:
            return await self.secret_keys.opens(grant.hashed, project.id)
        principal = await self.authentication.principal(grant.hashed)
        if principal is None:
            return False
        try:
            principal.require_member(project)
            principal.require_scope(SCOPE)
        except PermissionDenied:
            return False
        return True

    async def _project(
        self, request: Request, query: Mapping[str, str], named: str, key: str, place: str
    ) -> Project:
        owner = await self.secret_keys.project_id(key, place, request)
        if owner is not None:
            request.key_id = mask(key)
            named = str(owner) if named == CURRENT else named
            project = await self._wanted(request, query, named)
            if project is None or project.id != owner:
                self.authentication.failures.denied_secret(request.key_id, request)
                raise PermissionDenied("This key reads the flags of another project.")
            return project
        principal = await self.authentication.authenticate(key, place, request)
        request.key_id, request.user_id = str(principal.key_id), principal.user.id
        project = await self._wanted(request, query, named) or (
            await self.projects.current(principal) if named == CURRENT else None
        )
        if project is None:
            raise NotFound("Project not found.")
        with self.authentication.failures.denials(principal, request):
            principal.require_member(project)
            principal.require_scope(SCOPE)
        return project

    async def _wanted(
        self, request: Request, query: Mapping[str, str], named: str
    ) -> Project | None:
        token = query.get("token") or query.get("api_key")
        if token:
            return await self.projects.by_token(token, request)
        return await self.projects.by_id(int(named)) if _is_id(named) else None


def _key(request: Request, query: Mapping[str, str]) -> tuple[str, str]:
    """The key and where it stood. raises: NotAuthenticated"""
    header = bearer_key(request.headers.get("authorization"))
    if header is not None:
        return header, "Authorization header"
    if query.get("personal_api_key"):
        return query["personal_api_key"], "query string"
    raise NotAuthenticated


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16
