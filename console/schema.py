"""The OpenAPI document of the management API, printed without a server that listens.

.venv/bin/python console/schema.py > schema.json
"""

import asyncio
import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import httpx

from fanion.app.server import Server, server_application
from fanion.app.services import AppContext, build_services, open_stores
from fanion.config import read_settings
from fanion.events.storage.store import EventStore
from fanion.observability.logging import LineWriter
from fanion.observability.metrics import Metrics


async def document() -> bytes:
    """Return the document of the whole application, on temporary stores that stay empty."""
    with TemporaryDirectory(prefix="fanion-schema-") as folder:
        settings = read_settings({}, {"data": Path(folder), "processes": 1})
        context = AppContext(settings, Metrics(), LineWriter(io.BytesIO()))
        async with open_stores(context) as stores:
            server = Server(build_services(context, stores), EventStore(settings.event_store_url))
            try:
                return await _read(server_application(server).management)
            finally:
                await server.close()
                context.lines.close()


async def _read(application: object) -> bytes:
    transport = httpx.ASGITransport(app=cast(Any, application))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/api/schema/")
        answer.raise_for_status()
        return answer.content


if __name__ == "__main__":
    sys.stdout.buffer.write(asyncio.run(document()))
