"""How many connections this process may hold open at once."""

import resource

# Each takes a file descriptor and a few kilobytes, idle ones between two requests included.
CONNECTIONS_MAX = 16_384
# For stores, logs and libraries.
FILES_APART = 512
CONNECTIONS_MIN = 128


def allow_connections() -> int:
    """Raise this process's own limit of open files as far as it may, and say what it allows.

    A soft limit of 1,024 is usual, and an idle listener counts as much as a busy client.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + FILES_APART
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(CONNECTIONS_MIN, min(CONNECTIONS_MAX, allowed - FILES_APART))
