"""The project that a public request is for, from the key it carries.

source: api.md, "Errors"; capture.md section 1.5
"""

from typing import Any

from fanion.errors import (
    ExpiredPersonalApiKey,
    InvalidApiKey,
    InvalidPersonalApiKey,
    InvalidProject,
    PermissionDenied,
)
from fanion.projects.auth import Authentication
from fanion.projects.directory import Projects
from fanion.projects.model import Project


async def project_of_key(
    projects: Projects, authentication: Authentication, key: str, project_id: Any
) -> Project:
    """key:        a project's, or with `project_id` a personal one of somebody in that project
    project_id: as the request gives it, of any type

    raises: InvalidApiKey, InvalidPersonalApiKey, InvalidProject; Unavailable
    """
    try:
        return await projects.by_token(key)
    except InvalidApiKey:
        if not project_id:
            raise
    return await _project_of_member(projects, authentication, key, _number(project_id))


async def _project_of_member(
    projects: Projects, authentication: Authentication, key: str, project_id: int
) -> Project:
    try:
        principal = await authentication.authenticate(key, "body")
        project = await projects.by_id(project_id)
        if project is None:
            raise InvalidPersonalApiKey
        principal.require_member(project)
    except ExpiredPersonalApiKey:
        raise ExpiredPersonalApiKey from None
    except (InvalidPersonalApiKey, PermissionDenied):
        raise InvalidPersonalApiKey from None
    return project


def _number(project_id: object) -> int:
    try:
        return int(str(project_id))
    except ValueError:
        raise InvalidProject from None
