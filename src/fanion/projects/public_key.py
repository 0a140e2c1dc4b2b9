"""The project that a public request is for, from the key it carries.

source: api.md, "Errors"; capture.md section 1.5
"""

from fanion.errors import InvalidApiKey, InvalidPersonalApiKey, PermissionDenied
from fanion.projects.auth import Authentication
from fanion.projects.directory import Projects
from fanion.projects.model import Project


async def project_of_key(
    projects: Projects, authentication: Authentication, key: str, project_id: int | None
) -> Project:
    """key: a project's, or with `project_id` a personal one of somebody who is in the project

    raises: InvalidApiKey, InvalidPersonalApiKey; Unavailable
    """
    try:
        return await projects.by_token(key)
    except InvalidApiKey:
        if project_id is None:
            raise
    try:
        principal = await authentication.authenticate(key, "body")
        project = await projects.by_id(project_id)
        if project is None:
            raise InvalidPersonalApiKey
        principal.require_member(project)
    except (InvalidPersonalApiKey, PermissionDenied):
        raise InvalidPersonalApiKey from None
    return project
