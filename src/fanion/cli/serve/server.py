"""The command `fanion serve`.

It locks the data folder, and checks whether the records store answers while the server's code is
imported. Imports stay minimal here: the rest of the server and of the command line takes about a
second to import, and flags must be served sooner than that when a store is down.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fanion.cli.output import run_command, settings_of
from fanion.config import OtelSettings, Settings, read_otel_settings
from fanion.db.engine import can_reach_records
from fanion.db.file_check import ADVICE, damage_text, find_damage_at_start
from fanion.errors import StartRefused
from fanion.observability.logging import LineWriter, open_logs
from fanion.processes.shutdown import Shutdown
from fanion.runtime.data_dir import lock_data_dir, records_file
from fanion.runtime.interpreter import import_in_thread, shorten_switch_interval
from fanion.server.forwarded import TrustedProxies
from fanion.server.server import HttpServer, allow_connections, check_port
from fanion.web.proxy_warning import forget_ignored_headers

if TYPE_CHECKING:
    from fanion.web.application import Listeners

# How many uploads of the largest size one process holds on disk. A single client may hold half of
# them.
UPLOADS_MAX = 4
# Connections of a separate management listener, for the members and programs of an organization.
MANAGEMENT_CONNECTIONS_MAX = 512

# The options of the command, and how each is parsed.
_OPTIONS: Final[Mapping[str, Callable[[str], Any]]] = {
    "--host": str,
    "--port": int,
    "--data": Path,
    "--role": str,
}


def plain_options(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Parse options written as `--name value` or `--name=value`, each at most once.

    Loading Typer takes 9 MB, which a server would keep.

    Returns:
        None if only Typer can tell what is meant, or what is wrong.
    """
    options: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        name, has_value, value = argument.partition("=")
        value = value if has_value else next(rest, "")
        if name not in _OPTIONS or name in options or not value or value.startswith("-"):
            return None
        try:
            options[name] = _OPTIONS[name](value)
        except ValueError:
            return None
    return {name.removeprefix("--"): value for name, value in options.items()}


def serve(
    host: str | None = None,
    port: int | None = None,
    data: Path | None = None,
    role: str | None = None,
) -> None:
    """Serve until stopped."""
    settings = settings_of(host=host, port=port, data=data, role=role)
    to_terminal = sys.stdout.isatty()
    run_command(run_server(settings, lambda text: print(text, flush=True), to_terminal=to_terminal))


async def run_server(
    settings: Settings, announce: Callable[[str], None], *, to_terminal: bool
) -> None:
    """Serve until SIGTERM or SIGINT, then answer the requests in progress.

    Args:
        announce: Prints the address, and on the first start the keys or where they are.

    Raises:
        SettingsError: A variable of OpenTelemetry is wrong.
        PortTaken: An address is in use.
        DataDirLocked: Another process uses the data folder.
        RecordsUnavailable: The records store cannot be used.
        EventStoreUnavailable: The event store cannot be used.
        OSError: A file cannot be used.
    """
    otel = read_otel_settings(os.environ)
    check_ports(settings)
    shorten_switch_interval()
    lines = open_logs(settings.log_level)
    try:
        with lock_data_dir(settings, settings.local_address):
            forget_ignored_headers(settings.data)
            await _serve(settings, otel, announce, to_terminal, lines)
    finally:
        lines.close()


def check_ports(settings: Settings) -> None:
    """Check that the ports are free.

    Raises:
        PortTaken: A port is in use. The error names the settings that choose another one.
    """
    check_port(*settings.listen, "FANION_HOST and FANION_PORT")
    if settings.management_address is not None:
        check_port(*settings.management_address, "FANION_MANAGEMENT_LISTEN")


async def _require_sound_files(settings: Settings) -> None:
    """Check the stores' files as far as a moment allows.

    Raises:
        StartRefused: A file is damaged.
    """
    for path in (records_file(settings), settings.accept_log_path):
        damage = "" if path is None else await asyncio.to_thread(find_damage_at_start, path)
        if path is not None and damage:
            raise StartRefused(f"{damage_text(path, damage)}. {ADVICE}")


async def _serve(
    settings: Settings,
    otel: OtelSettings,
    announce: Callable[[str], None],
    to_terminal: bool,
    lines: LineWriter,
) -> None:
    checking = asyncio.create_task(_require_sound_files(settings))
    answering = asyncio.create_task(can_reach_records(settings.records_url))
    await import_in_thread("fanion.app.startup.stages")
    await checking
    from fanion.app.services import AppContext
    from fanion.app.startup.server_start import ServerStart
    from fanion.app.startup.stages import run_stages
    from fanion.app.telemetry import open_tracing, require_library
    from fanion.console.build_reader import read_build
    from fanion.observability.metrics import Metrics

    require_library(otel)
    tracing = await asyncio.to_thread(open_tracing, settings, otel)
    shutdown = Shutdown(settings.drain_of_roles_s)
    shutdown.handle_signals()
    http = _listeners(settings, shutdown)
    try:
        build = await asyncio.to_thread(read_build)
        metrics = Metrics()
        metrics.describe_server()
        context = AppContext(
            settings, metrics, lines, build=build, tracing=tracing, draining=shutdown.draining
        )
        start = ServerStart(context, announce, to_terminal, shutdown.stop, http, otel)
        await run_stages(start, answering)
    finally:
        shutdown.stop.set()
        await http.wait_closed()
        await asyncio.to_thread(tracing.close)


def _listeners(settings: Settings, shutdown: Shutdown) -> "Listeners":
    from fanion.web.application import Listeners, error_response

    listening = partial(
        HttpServer,
        stop=shutdown.stop,
        draining=shutdown.draining,
        render_error=error_response,
        proxies=TrustedProxies(settings.trusted_networks),
        file_bytes_max=UPLOADS_MAX * settings.upload_bytes_max,
    )
    if settings.management_address is None:
        return Listeners(listening(settings.listen))
    allowed = allow_connections()
    apart = min(MANAGEMENT_CONNECTIONS_MAX, allowed // 2)
    return Listeners(
        listening(settings.listen, connections_max=allowed - apart),
        listening(settings.management_address, connections_max=apart),
    )
