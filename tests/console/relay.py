"""A TCP relay before the server whose streams can fall silent, as after a sleep of the computer.

Nothing ends their connections, so that neither side finds out.
"""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CHUNK_BYTES = 65_536
POLL_S = 0.05
STREAM = b"/stream/"  # in the first line of a request for a stream


@dataclass
class Relay:
    """The relay to one port, on a port of its own."""

    target: int
    listener: socket.socket
    _silent: set[socket.socket] = field(default_factory=set)
    _streams: set[socket.socket] = field(default_factory=set)
    _stops: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def fall_silent(self) -> None:
        """Pass on nothing more of the streams that are open now."""
        self._silent |= self._streams

    def serve(self) -> None:
        while not self._stops.is_set():
            with suppress(OSError):
                client, _ = self.listener.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def stop(self) -> None:
        self._stops.set()
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _relay(self, client: socket.socket) -> None:
        with (
            client,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self.target)) as server,
            selectors.DefaultSelector() as selector,
        ):
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while not self._stops.is_set():
                for key, _ in selector.select(POLL_S):
                    assert isinstance(key.fileobj, socket.socket)
                    sent = key.fileobj.recv(CHUNK_BYTES)
                    if key.fileobj is client and STREAM in sent.partition(b"\r\n")[0]:
                        self._streams.add(client)
                    if client not in self._silent:
                        key.data.sendall(sent)
                    if not sent:
                        return


@contextmanager
def relay(port: int) -> Iterator[Relay]:
    """Lend a relay to a port of this machine."""
    relay = Relay(port, socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=relay.serve, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        relay.stop()
        thread.join()
