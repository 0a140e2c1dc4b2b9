"""The search for the process that listens on a port."""

import ctypes
import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from fanion.server.port_user import find_port_user
from tests.support.server import free_port, this_process

# Gives up what root may do.
SEARCH = """
import os, pwd, sys
from fanion.server.port_user import find_port_user
if os.geteuid() == 0:
    os.setuid(65534)
print(find_port_user(int(sys.argv[1])))
"""
PR_SET_DUMPABLE = 4


@pytest.fixture
def closed_process() -> Iterator[None]:
    """Keep other processes of the same user from looking at this one."""
    libc = ctypes.CDLL(None)
    assert libc.prctl(PR_SET_DUMPABLE, 0) == 0
    yield
    assert libc.prctl(PR_SET_DUMPABLE, 1) == 0


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_process_that_listens_is_found(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listener:
        user = find_port_user(listener.getsockname()[1])

    assert user == this_process()


def test_a_connected_port_is_not_a_listening_one() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        assert find_port_user(client.getsockname()[1]) == ""


def test_nobody_listens_on_a_free_port() -> None:
    assert find_port_user(free_port()) == ""


@pytest.mark.usefixtures("closed_process")
def test_of_a_process_that_may_not_be_looked_at_the_user_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-c", SEARCH, str(port)], capture_output=True, text=True, check=True
        )

    user = pwd.getpwuid(os.geteuid()).pw_name
    assert done.stdout.strip() == f"a process of user {user}"
