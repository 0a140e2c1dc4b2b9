"""Limits that a process sets for itself."""

import resource
from contextlib import suppress


def limit_memory(bytes_max: int) -> None:
    """Limit the address space of this process, if the system supports it."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    is_lower = hard == resource.RLIM_INFINITY or bytes_max < hard
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (bytes_max if is_lower else hard, hard))
