"""The command `fanion doctor`: checks settings, stores, disk, clock and versions."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

import msgspec
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fanion import __version__
from fanion.cli.doctor.stores import Finding, RunningServer, examine_stores
from fanion.cli.options import Data
from fanion.cli.output import printable, refuse, run_command
from fanion.cli.running_server import NoAnswer, ask_server
from fanion.cli.serve.server import check_ports
from fanion.config import (
    MAY_HOLD_PASSWORD,
    PREFIX,
    Settings,
    SettingsError,
    is_of_this_machine,
    read_otel_settings,
    read_valid_settings,
)
from fanion.events.storage.store import cost_of_text
from fanion.runtime.backup_state import backup_problem, read_backup_state
from fanion.runtime.clock import utc_now
from fanion.runtime.data_dir import (
    FIRST_START_FILE,
    events_folder,
    find_holder,
    find_readable_by_others,
    require_data_dir,
)
from fanion.runtime.folder_state import FolderRefused, require_usable
from fanion.server.forwarded import TrustedProxies, format_networks
from fanion.server.server import PortTaken
from fanion.web.proxy_warning import ignored_headers

READY_S_MAX = 5.0  # a server that answers later is reported as not answering


class _Ready(msgspec.Struct):
    """The answer of `/_ready`."""

    status: str
    checks: dict[str, str]


async def find_server(settings: Settings) -> RunningServer:
    """Return the server that runs on the data folder, and whether it is ready.

    Raises:
        OSError: The lock of the folder cannot be read.
    """
    holder = find_holder(settings)
    if holder is None or not holder.address:
        return RunningServer(holder)
    try:
        ready = await ask_server(holder.address, "/_ready", _Ready, READY_S_MAX)
    except NoAnswer as error:
        return RunningServer(holder, failure=str(error))
    return RunningServer(holder, ready.status == "ready", ready.checks)


DISK_FREE_BYTES_MIN = 2 * 1024**3
# A clock that is earlier than this version's release is wrong, and every event would get a wrong
# time.
CLOCK_MIN = datetime(2026, 1, 1, tzinfo=UTC)
_ENGINE = "chdb-core"
_LIBRARIES = (_ENGINE, "httptools", "litestar", "sqlalchemy")


async def examine_installation(
    settings: Settings, now: datetime, problems: Mapping[str, str] = MappingProxyType({})
) -> list[Finding]:
    """Return the findings of all checks.

    Args:
        problems: The settings that are wrong, by name; `settings` has the others.

    Raises:
        DataDirMissing: The folder is missing and at least one store lies in it.
    """
    elsewhere = {"database_url", "events_url"} - problems.keys()
    if not all(getattr(settings, name) for name in elsewhere):
        require_data_dir(settings)
    server, server_finding = await _look_for_server(settings)
    return [
        *(Finding("settings", False, text) for text in problems.values()),
        _settings_finding(settings),
        _addresses_finding(settings, server),
        _versions_finding(settings),
        server_finding,
        _folder_finding(settings, server),
        _backup_finding(settings, now),
        _disk_finding(settings),
        _permissions_finding(settings),
        _clock_finding(now),
        _proxies_finding(settings),
        *await examine_stores(settings, server, problems),
    ]


async def _look_for_server(settings: Settings) -> tuple[RunningServer, Finding]:
    try:
        server = await find_server(settings)
    except OSError as error:
        advice = "Run it as the user that the server runs as."
        text = f"cannot tell whether one runs: {error}"
        return RunningServer(), Finding("server", False, text, advice)
    return server, _server_finding(server, settings)


def _server_finding(server: RunningServer, settings: Settings) -> Finding:
    holder = server.holder
    if holder is None:
        return Finding("server", True, "none runs on this folder")
    process = "a process" if holder.pid is None else f"process {holder.pid}"
    if not holder.address:
        text = f"none runs on this folder; {process} holds it, to copy events into it"
        return Finding("server", True, text)
    runs = f"runs on this folder: {process}, {holder.address}"
    if server.failure:
        advice = "See its log. If it hangs, stop it and start it again."
        return Finding("server", False, f"{runs}; does not answer: {server.failure}", advice)
    states = ", ".join(f"{name} {state}" for name, state in server.checks.items())
    if not server.is_ready:
        advice = "See store_not_ready in its log; a start takes some seconds."
        return Finding("server", False, f"{runs}; not ready: {states}", advice)
    is_other = holder.address != settings.local_address
    advice = "It was started with another address than these settings have." if is_other else ""
    return Finding("server", True, f"{runs}; ready: {states}", advice)


def _settings_finding(settings: Settings) -> Finding:
    """Return the settings that differ from their defaults, with only the scheme of secret URLs."""
    defaults = Settings()
    chosen = {
        name: getattr(settings, name)
        for name in settings.__struct_fields__
        if getattr(settings, name) != getattr(defaults, name)
    }
    for name in chosen.keys() & MAY_HOLD_PASSWORD:
        chosen[name] = f"{chosen[name].partition('://')[0]}://…"
    text = " ".join(f"{PREFIX}{name.upper()}={value}" for name, value in chosen.items())
    return Finding("settings", True, text or "all have their defaults")


def _addresses_finding(settings: Settings, server: RunningServer) -> Finding:
    host, port = settings.listen
    listens = f"listens on {host} port {port}"
    if settings.management_listen:
        listens += f", for management on {settings.management_listen}"
    if server.holder is None:
        try:
            check_ports(settings)
        except PortTaken as error:
            return Finding("addresses", False, error.problem, error.advice)
    if settings.management_url:
        listens += f"; people reach management at {settings.mail_url}"
    if settings.public_url:
        text = f"{listens}; public URL {settings.address}"
        return Finding("addresses", True, text, _advice_on_mails(settings))
    links = "links begin with the address of the request (FANION_PUBLIC_URL is not set)"
    return Finding("addresses", True, f"{listens}; {links}")


def _advice_on_mails(settings: Settings) -> str:
    """Return what may be wrong with links in mails, or "" if nothing is."""
    if not settings.smtp_url:
        return ""
    link = settings.mail_url
    if is_of_this_machine(link):
        return f"Links in mails begin with {link}, which other machines cannot reach."
    if settings.management_listen and not settings.management_url:
        return (
            f"Links in mails begin with {link}. If people reach management at another address, "
            "set FANION_MANAGEMENT_URL."
        )
    return ""


def _versions_finding(settings: Settings) -> Finding:
    python = ".".join(map(str, sys.version_info[:3]))
    versions = {name: _library_version(name) for name in _LIBRARIES}
    libraries = ", ".join(f"{name} {found or 'not installed'}" for name, found in versions.items())
    engine = versions[_ENGINE]
    advice = cost_of_text(engine) if engine and events_folder(settings) is not None else ""
    return Finding("versions", True, f"Fanion {__version__}, Python {python}, {libraries}", advice)


def _library_version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # a small installation has no embedded engine
        return ""


def _folder_finding(settings: Settings, server: RunningServer) -> Finding:
    """Return whether a server may start on the folder."""
    if server.holder is None:
        try:
            require_usable(settings.data.resolve())
        except FolderRefused as error:
            problem, _, advice = str(error).partition(". ")
            return Finding("data folder", False, problem, advice)
    return Finding("data folder", True, str(settings.data.resolve()))


def _backup_finding(settings: Settings, now: datetime) -> Finding:
    """Return whether the last backup succeeded; having made none is not a failure."""
    folder = settings.data.resolve()
    if problem := backup_problem(folder, settings.backup_interval_s, now):
        return Finding("backup", False, problem, "`fanion backup --to …` shows the error.")
    state = read_backup_state(folder)
    if state is None or state.succeeded_at is None:
        advice = "Set FANION_BACKUP_TO, or run `fanion backup` regularly."
        advice = advice if settings.has_embedded_stores else ""
        return Finding("backup", True, "none was made with `fanion backup`", advice)
    at = state.succeeded_at.isoformat(timespec="seconds")
    return Finding("backup", True, f"the last one is of {at}, in {state.destination}")


def _disk_finding(settings: Settings) -> Finding:
    folder = settings.data.resolve()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    return Finding(
        "disk",
        free >= DISK_FREE_BYTES_MIN,
        f"{free / 1024**3:.1f} GiB free at {folder}",
        "" if free >= DISK_FREE_BYTES_MIN else "Free space: a full disk stops capture.",
    )


def _permissions_finding(settings: Settings) -> Finding:
    readable = find_readable_by_others(settings)
    if not readable:
        secrets = settings.data.resolve() / FIRST_START_FILE
        advice = f"The first keys lie in {secrets}; delete it." if secrets.exists() else ""
        return Finding("permissions", True, "only this user may read the data", advice)
    more = f" and {len(readable) - 1} more" if len(readable) > 1 else ""
    advice = "The next start restricts them; files of another user need chown, then chmod go=."
    return Finding("permissions", False, f"others may read {readable[0]}{more}", advice)


def _clock_finding(now: datetime) -> Finding:
    ok = now >= CLOCK_MIN
    advice = "" if ok else "Set the clock, for example with an NTP client."
    return Finding("clock", ok, now.isoformat(timespec="seconds"), advice)


def _proxies_finding(settings: Settings) -> Finding:
    """Return the finding about proxies. It is never a failure: any client can send such headers."""
    text = f"trusted: {format_networks(settings.trusted_networks)}"
    ignored, advice = ignored_headers(settings.data), ""
    if ignored is not None and not TrustedProxies(settings.trusted_networks).is_trusted(
        ignored.peer
    ):
        at = ignored.at.isoformat(timespec="seconds")
        text += f"; forwarded headers from {ignored.peer} were ignored at {at}"
        advice = f"If {ignored.peer} is your proxy, add it to FANION_TRUSTED_PROXIES."
    return Finding("proxies", True, text, advice)


def doctor(data: Data = None) -> None:
    """Check settings, stores, disk, clock and versions, and give advice.

    Exit code 1 when a check fails.
    """
    try:
        settings, problems = read_valid_settings(os.environ, {"data": data})
    except SettingsError as error:
        refuse(str(error))
    try:
        read_otel_settings(os.environ)
    except SettingsError as error:
        problems["otel"] = str(error)
    findings = run_command(examine_installation(settings, utc_now(), problems))
    _print_findings(findings)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


def _print_findings(findings: Sequence[Finding]) -> None:
    """Print a table on a terminal; elsewhere a line for each finding and one for its advice."""
    terminal = Console()
    if not terminal.is_terminal:
        for finding in findings:
            print(f"{_finding_mark(finding)}  {finding.what:14} {printable(finding.text)}")
            if finding.advice:
                print(f"{'':18} -> {printable(finding.advice)}")
        return
    table = Table("", "Check", "Found", "What to do", box=box.SIMPLE_HEAD)
    table.columns[1].no_wrap = True
    for column in table.columns[2:]:
        column.overflow = "fold"
    for finding in findings:
        mark = Text(_finding_mark(finding), "green" if finding.ok else "bold red")
        table.add_row(
            mark, finding.what, Text(printable(finding.text)), Text(printable(finding.advice))
        )
    terminal.print(table)


def _finding_mark(finding: Finding) -> str:
    return "ok" if finding.ok else "!!"
