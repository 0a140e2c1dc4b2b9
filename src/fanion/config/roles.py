"""The roles of a server: the parts of the product that one process serves."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    WEB = "web"  # captures events, and answers flags for SDKs
    API = "api"  # the management API and the console
    INGEST = "ingest"  # moves events from the accept log into the stores
    JOBS = "jobs"  # does work that no request waits for


ALL: Final = frozenset(Role)
_ALLOWED: Final = ", ".join(Role)


def read_roles(text: str) -> frozenset[Role]:
    """Parse `all`, or roles separated by commas.

    Raises:
        ValueError: A role is unknown.
    """
    names = [name.strip().lower() for name in text.split(",")]
    unknown = [name for name in names if name != "all" and name not in ALL]
    if unknown:
        raise ValueError(
            f"ROLE must be all, or some of {_ALLOWED}, separated by commas; got {unknown[0]!r}"
        )
    return ALL if "all" in names else frozenset(map(Role, names))


def roles_text(roles: frozenset[Role]) -> str:
    """Return the roles' names, in the order of the documentation."""
    return "all" if roles == ALL else ", ".join(role for role in Role if role in roles)
