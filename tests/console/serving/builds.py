"""Builds of a console with made-up contents, and applications that serve them."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]  # ships no types
import httpx
from msgspec import structs

from fanion.app.server import Server, server_application
from fanion.console.build import Build, file_of
from fanion.console.docs_endpoints import BUILT
from fanion.observability.metrics import Metrics
from tests.support import plain_http
from tests.support.application import BASE_URL, AppServer
from tests.support.exchange import MemoryTransport

INDEX = """<!doctype html>
<link rel="icon" href="./assets/icon-1.svg">
<meta name="fanion-prefix" content="__PREFIX__">
<meta name="fanion-docs" content="__DOCS__">
<meta property="csp-nonce" nonce="__NONCE__">
<script type="module" crossorigin src="./assets/index-1.js" nonce="__NONCE__"></script>
<!-- frame -->
<p>Fanion</p>
<!-- /frame -->
"""
SCRIPT, ARRAY = b"console.log('console');" * 50, b"console.log('posthog-js');" * 50
ICON = b"<svg/>"
VERSION = "1.2.3"


def packed(content: bytes) -> dict[str, bytes]:
    return {
        "br": brotli.compress(content),
        "gzip": gzip.compress(content, mtime=0),
        "identity": content,
    }


BUILD = Build(
    index=INDEX,
    assets={
        "index-1.js": file_of("index-1.js", packed(SCRIPT)),
        "icon-1.svg": file_of("icon-1.svg", {"identity": ICON}),
    },
    sdk={"array.js": file_of("array.js", packed(ARRAY))},
    sdk_version=VERSION,
    missing="",
)


def client_of(
    app_server: AppServer, build: Build, docs: Path = BUILT, **settings: Any
) -> httpx.AsyncClient:
    """Return a client of this server with such a build, and with its own metrics.

    Args:
        docs: The folder of the built documentation.
    """
    public = app_server.running.public
    changed = structs.replace(public.context.settings, **settings)
    context = replace(public.context, build=build, docs=docs, settings=changed, metrics=Metrics())
    server = Server(replace(public, context=context), app_server.running.events)
    server.events.observe(public.context.metrics.store_seconds.labels("events").observe)
    application = server_application(server)
    return plain_http.AsyncClient(transport=MemoryTransport(application), base_url=BASE_URL)
