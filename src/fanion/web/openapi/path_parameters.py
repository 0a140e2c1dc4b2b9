"""The names of path parameters, as the reference of the API has them.

An object's own id is `id`, and that of the flag above it `parent_lookup_feature_flag_id`. Handlers
call them `cohort_id` or `flag_id`.

Source: api.md, "Endpoints".
"""

import re
from collections.abc import Mapping
from typing import Any

_PROJECT = "/api/projects/{project_id}/"
_PARENTS: Mapping[str, str] = {"flag_id": "parent_lookup_feature_flag_id"}
# Lists of a flag whose objects have ids of their own.
_CHILDREN = re.compile(r"\{(\w+)\}/(?:role_access|scheduled_changes)")
_OWN_ID = re.compile(r"\{((?!client_query_|parent_lookup_)\w+_id)\}")


def rename_path_parameters(paths: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the paths with the published names of their parameters."""
    return dict(_renamed(path, item) for path, item in paths.items())


def _renamed(path: str, item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if not path.startswith(_PROJECT):
        return path, item
    published, names = _published_path(path.removeprefix(_PROJECT))
    for operation in item.values():
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path":
                parameter["name"] = names.get(parameter["name"], parameter["name"])
    return _PROJECT + published, item


def _published_path(path: str) -> tuple[str, dict[str, str]]:
    """Return the path below a project, and the published name of each parameter that has one."""
    names: dict[str, str] = {}
    if parent := _CHILDREN.search(path):
        names[parent[1]] = _PARENTS[parent[1]]
        path = path.replace(f"{{{parent[1]}}}", f"{{{names[parent[1]]}}}")
    if own := _OWN_ID.search(path):
        names[own[1]] = "id"
        path = path.replace(f"{{{own[1]}}}", "{id}")
    return path, names
