"""The project that a public request is for, from the key it carries.

source: api.md, "Errors"; capture.md sections 1.5 and 9.1
"""

from typing import Any

from fanion.errors import (
    ExpiredPersonalApiKey,
    InvalidApiKey,
    InvalidPersonalApiKey,
    InvalidProject,
    PermissionDenied,
)
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.cache import Projects
from fanion.projects.model import Principal, Project
from fanion.rest.validation import INTEGER_MAX
from fanion.server.request import Request

# What a restricted personal key needs in the place of a project key.
CAPTURE_SCOPE = "event:write"
EVALUATION_SCOPE = "feature_flag:read"


async def project_of_key(
    projects: Projects,
    authentication: Authentication,
    request: Request,
    key: str,
    project_id: Any,
    scope: str,
) -> Project:
    """request:    gets the ids of the personal key and its user, for the request log
    key:        a project's, or with `project_id` a personal one of a member of that project
    project_id: as the request gives it, of any type
    scope:      that a restricted personal key needs

    raises: InvalidApiKey, InvalidPersonalApiKey, InvalidProject, PermissionDenied; Throttled;
            Unavailable
    """
    if not project_id:
        return await projects.by_token(key, request)
    # Whether a key that is no project's has failed is known at the end.
    authentication.require_room(key, request)
    try:
        return await projects.by_token(key)
    except InvalidApiKey:
        number = _number(project_id)
    principal = await _principal(authentication, key, request)
    request.key_id, request.user_id = str(principal.key_id), principal.user.id
    project = await _project_of_member(projects, principal, number)
    try:
        principal.require_scope(scope)
    except PermissionDenied:
        authentication.failures.denied(principal, request)
        raise
    return project


async def _principal(authentication: Authentication, key: str, request: Request) -> Principal:
    try:
        return await authentication.authenticate(key, "body", request)
    except ExpiredPersonalApiKey:
        raise ExpiredPersonalApiKey from None
    except InvalidPersonalApiKey:
        raise InvalidPersonalApiKey from None


async def _project_of_member(projects: Projects, principal: Principal, project_id: int) -> Project:
    """A project that is out of reach is answered as one that does not exist."""
    project = await projects.by_id(project_id) if 0 < project_id <= INTEGER_MAX else None
    if project is None:
        raise InvalidPersonalApiKey
    try:
        principal.require_member(project)
    except PermissionDenied:
        raise InvalidPersonalApiKey from None
    return project


def _number(project_id: object) -> int:
    try:
        return int(str(project_id))
    except ValueError:
        raise InvalidProject from None
