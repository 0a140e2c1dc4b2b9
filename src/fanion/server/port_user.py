"""The search for the process that listens on a port, on Linux."""

import pwd
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

_LISTENING: Final = "0A"
_PROCESSES: Final = Path("/proc")
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def find_port_user(port: int) -> str:
    """Return who listens on a TCP port, such as `process 4711 (nginx)`.

    Returns:
        Only the user, as in `a process of user root`, if this one may not look at its processes;
        "" if nothing listens there, or the system has no `/proc`.
    """
    owners = _listening_sockets(port)
    if not owners:
        return ""
    if process := _find_process({f"socket:[{socket}]" for socket in owners}):
        return process
    return f"a process of user {_name_of_user(min(owners.values()))}"


def _listening_sockets(port: int) -> dict[str, int]:
    """Return the inodes of the sockets that listen on a port, each with its user's id."""
    owners: dict[str, int] = {}
    for table in _TABLES:
        with suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    owners[fields[9]] = int(fields[7])
    return owners


def _find_process(links: Collection[str]) -> str:
    """Return the first process that has one of these files open."""
    for folder in _PROCESSES.glob("[0-9]*"):
        with suppress(OSError):  # another user's, or it has ended
            if any(_target(file) in links for file in (folder / "fd").iterdir()):
                return f"process {folder.name} ({(folder / 'comm').read_text().strip()})"
    return ""


def _target(file: Path) -> str:
    try:
        return str(file.readlink())
    except OSError:  # it was closed meanwhile
        return ""


def _name_of_user(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
