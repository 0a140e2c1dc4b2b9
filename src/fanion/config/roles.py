"""Roles of a server: which part of the product one process serves."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    WEB = "web"  # captures, and flags for SDKs
    API = "api"  # the management API and the console
    INGEST = "ingest"  # from the accept log into the stores
    JOBS = "jobs"  # work for which no request waits


ALL: Final = frozenset(Role)
_ALLOWED: Final = ", ".join(Role)


def read_roles(text: str) -> frozenset[Role]:
    """text: `all`, or roles separated by commas. raises: ValueError"""
    names = [name.strip().lower() for name in text.split(",")]
    unknown = [name for name in names if name != "all" and name not in ALL]
    if unknown:
        raise ValueError(
            f"ROLE must be all, or some of {_ALLOWED}, separated by commas; got {unknown[0]!r}"
        )
    return ALL if "all" in names else frozenset(map(Role, names))


def roles_text(roles: frozenset[Role]) -> str:
    """In the order in which the documentation lists them."""
    return "all" if roles == ALL else ", ".join(role for role in Role if role in roles)
