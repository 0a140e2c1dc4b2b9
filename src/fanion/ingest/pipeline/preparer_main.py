"""The preparer process, which prepares full batches while ingestion catches up.

More than half of the work on an event needs only the event, and runs here in a second
interpreter. The process ends with the server, or after being idle, because it holds as much memory
as its largest batch took.
"""

import sys
from contextlib import suppress
from pathlib import Path

from fanion.ingest.pipeline.prepare import GeoIp
from fanion.ingest.pipeline.preparer_codec import respond
from fanion.processes.channel import BlockingChannel, socket_to_parent
from fanion.runtime.geoip import open_geoip
from fanion.runtime.interpreter import enable_garbage_collection

IDLE_S = 10.0


def serve(channel: BlockingChannel, geoip: GeoIp | None) -> None:
    """Send an empty frame when ready, then one response for each request.

    A response is empty for a batch that the server must prepare itself.

    Raises:
        OSError: The server has ended, or the process was idle for IDLE_S.
    """
    channel.send(b"")
    channel.set_timeout(IDLE_S)
    while (request := channel.receive()) is not None:
        try:
            response = respond(request.content, geoip)
        except Exception:  # the server then finds the envelope that cannot be prepared
            response = b""
        channel.send(response)


if __name__ == "__main__":
    parent = socket_to_parent()
    enable_garbage_collection()
    geoip_database = open_geoip(Path(sys.argv[2])) if sys.argv[2] else None
    with suppress(OSError), BlockingChannel(parent) as to_server:
        serve(to_server, geoip_database)
