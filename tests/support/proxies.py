"""The proxies nginx, Caddy and HAProxy with the samples of deploy/, in front of real servers."""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import httpx
import pytest

from fanion.config import PREFIX
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, free_port

DEPLOY = Path(__file__).parents[2] / "deploy"
PUBLIC, MANAGEMENT = "fanion.example.com", "manage.fanion.example.com"
SHARED = "example.com"  # with other things on it: Fanion is below /fanion
NGINX_SAMPLES = ("nginx.conf", "nginx-path.conf")
CADDY_SAMPLES = ("Caddyfile", "Caddyfile-path")
HAPROXY_SAMPLES = ("haproxy.cfg", "haproxy-path.cfg")
SAMPLES = (*NGINX_SAMPLES, *CADDY_SAMPLES, *HAPROXY_SAMPLES)
# With a name for the public and one for management, and below a path of a name with other things.
SAMPLES_OF_NAMES, SAMPLES_BELOW_A_PATH = SAMPLES[::2], SAMPLES[1::2]
CHECK_S = 120
# Another loopback address, so that a client's address differs from a proxy's.
CLIENT = "127.0.0.2"
TRUSTING = {f"{PREFIX}TRUSTED_PROXIES": "127.0.0.1"}


@dataclass(frozen=True)
class Ports:
    """The ports of a proxy and of the servers behind it.

    Attributes:
        servers: Of one server, or of several.
        managements: The listeners for management of the same servers.
        plain: The proxy's port without TLS.
    """

    servers: Sequence[int] = field(default_factory=lambda: (free_port(),))
    managements: Sequence[int] = field(default_factory=lambda: (free_port(),))
    proxy: int = field(default_factory=free_port)
    plain: int = field(default_factory=free_port)


@dataclass(frozen=True)
class ProxiedServer:
    """A server behind a proxy.

    Attributes:
        port: The proxy's.
    """

    server: PreloadedServer
    keys: Keys
    port: int

    @contextmanager
    def client(self, host: str, address: str = CLIENT) -> Iterator[httpx.Client]:
        transport = httpx.HTTPTransport(verify=False, local_address=address)
        url = f"https://127.0.0.1:{self.port}"
        headers = {"host": host}
        with httpx.Client(transport=transport, base_url=url, headers=headers, timeout=30) as client:
            yield client

    @property
    def origin(self) -> str:
        """The origin of links, which are followed through the proxy by their path."""
        return f"https://{SHARED}"

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.keys.personal_api_key}"}


def program(name: str) -> str:
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.skip(f"no {name} found: install the package that has it")
    return path


def run_checked(*arguments: str, **environment: str) -> str:
    """Return what a program says about a sample that it accepts."""
    done = subprocess.run(
        arguments,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=CHECK_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate and its key, and return their paths."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    names = f"DNS:{PUBLIC},DNS:{MANAGEMENT},DNS:{SHARED},IP:127.0.0.1"
    run_checked(
        *(program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
        *("-subj", f"/CN={PUBLIC}", "-addext", f"subjectAltName={names}"),
        *("-keyout", str(key), "-out", str(certificate)),
    )
    return certificate, key


def exchanged(sample: str, values: Mapping[str, str]) -> str:
    """Return a sample with other values, by the patterns of what they replace."""
    for written, here in values.items():
        sample, count = re.subn(written, here, sample, flags=re.MULTILINE)
        assert count, written
    return sample


def with_servers(sample: str, ports: Ports) -> str:
    """Return a sample of nginx or HAProxy with each line of a server repeated for every port."""
    for port, listening in ((8000, ports.servers), (8001, ports.managements)):
        pattern = rf"^    server (\S+ )?127\.0\.0\.1:{port} (.+\n)"
        sample = re.sub(pattern, partial(_lines, listening), sample, flags=re.MULTILINE)
    return sample


def _lines(ports: Sequence[int], line: re.Match[str]) -> str:
    names = ("" if line[1] is None else f"{line[1].strip()}-{port} " for port in ports)
    servers = zip(names, ports, strict=True)
    return "".join(f"    server {name}127.0.0.1:{port} {line[2]}" for name, port in servers)


def nginx_configuration(folder: Path, ports: Ports, name: str = NGINX_SAMPLES[0]) -> Path:
    """Return a whole configuration with the sample, adapted to this machine."""
    chain, key = certificate(folder)
    values = {
        r"listen 443 ssl;": f"listen 127.0.0.1:{ports.proxy} ssl;",
        r"/etc/ssl/\w+/fullchain\.pem": str(chain),
        r"/etc/ssl/\w+/privkey\.pem": str(key),
        r"/var/log/nginx/": f"{folder}/",
    }
    if name in SAMPLES_OF_NAMES:
        values[r"listen 80;"] = f"listen 127.0.0.1:{ports.plain};"
    sample = with_servers(exchanged((DEPLOY / name).read_text(), values), ports)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;" if os.getuid() == 0 else ""
    whole = folder / "nginx.conf"
    whole.write_text(
        f"{user} daemon off; pid {folder}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off; {places}\n{sample}\n}}\n"
    )
    return whole


def haproxy_configuration(folder: Path, ports: Ports, name: str = HAPROXY_SAMPLES[0]) -> Path:
    """Return the sample, adapted to this machine."""
    site = folder / "site.pem"
    site.write_text("".join(path.read_text() for path in certificate(folder)))
    values = {
        r"bind :443": f"bind 127.0.0.1:{ports.proxy}",
        r"/etc/ssl/\w+/site\.pem": str(site),
    }
    if name in SAMPLES_OF_NAMES:
        values[r"bind :80$"] = f"bind 127.0.0.1:{ports.plain}"
    text = with_servers(exchanged((DEPLOY / name).read_text(), values), ports)
    whole = folder / "haproxy.cfg"
    whole.write_text(text)
    return whole


def caddy_configuration(
    folder: Path, ports: Ports, name: str = CADDY_SAMPLES[0], host: str = ""
) -> Path:
    """Return a configuration file with the sample.

    Args:
        host: Replaces the name that the sample has.
    """
    chain, key = certificate(folder)
    values = {r"to 127\.0\.0\.1:8000$": to(ports.servers)}
    if name in SAMPLES_OF_NAMES:
        values[r"to 127\.0\.0\.1:8001$"] = to(ports.managements)
    sample, sites = re.subn(
        r"^(\S*example\.com) \{",
        lambda name: f"https://{host or name[1]}:{ports.proxy} {{\n\ttls {chain} {key}",
        exchanged((DEPLOY / name).read_text(), values),
        flags=re.MULTILINE,
    )
    ours = f"{{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_sni {host or PUBLIC}"
    sample, options = re.subn(r"^\{$", ours, sample, count=1, flags=re.MULTILINE)
    assert (sites, options) == (2 if name in SAMPLES_OF_NAMES else 1, 1)
    whole = folder / "Caddyfile"
    whole.write_text(sample)
    return whole


def to(ports: Sequence[int]) -> str:
    return f"to {' '.join(f'127.0.0.1:{port}' for port in ports)}"


def proxy_command(sample: str, folder: Path, ports: Ports, host: str) -> list[str]:
    if sample in NGINX_SAMPLES:
        configuration = nginx_configuration(folder, ports, sample)
        return [program("nginx"), "-p", str(folder), "-c", str(configuration)]
    if sample in HAPROXY_SAMPLES:
        return [program("haproxy"), "-f", str(haproxy_configuration(folder, ports, sample))]
    configuration = caddy_configuration(folder, ports, sample, host)
    return [program("caddy"), "run", "--config", str(configuration), "--adapter", "caddyfile"]


@contextmanager
def open_proxied_server(
    sample: str,
    host: str,
    health: str,
    folder: Path,
    ports: Ports,
    settings: dict[str, str],
) -> Iterator[ProxiedServer]:
    """Run a server behind a proxy.

    Args:
        health: The path that answers, on `host`, once everything is up.
    """
    server = PreloadedServer(folder / "data", settings)
    keys = server.setup()
    server.start()
    behind = ProxiedServer(server, keys, ports.proxy)
    try:
        with started_proxy(sample, folder, replace(ports, servers=(server.port,))):
            until(lambda: is_up(behind, host, health), "the proxy does not answer")
            yield behind
    finally:
        server.close()


@contextmanager
def started_proxy(sample: str, folder: Path, ports: Ports, host: str = "") -> Iterator[None]:
    """Run a proxy.

    Args:
        ports: Those of the server, of the proxy, and others that the sample names.
        host: The name that Caddy answers to, instead of the sample's; the others answer to any.
    """
    command = proxy_command(sample, folder, ports, host)
    environment = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    log = folder / "proxy.log"
    with log.open("wb") as file:
        proxy = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        until(
            lambda: proxy.poll() is not None or is_listening(ports.proxy),
            "the proxy does not start",
        )
        assert proxy.poll() is None, log.read_text()
        yield
    finally:
        # The signal that ends each of them without waiting for open streams.
        proxy.send_signal(signal.SIGQUIT if sample in CADDY_SAMPLES else signal.SIGTERM)
        end_process(proxy)


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def end_process(proxy: "subprocess.Popen[bytes]") -> None:
    try:
        proxy.wait(timeout=CHECK_S)
    except subprocess.TimeoutExpired:
        proxy.kill()
        proxy.wait()
        raise


def is_up(behind: ProxiedServer, host: str, health: str) -> bool:
    try:
        with behind.client(host) as client:
            return client.get(health).status_code == 200
    except httpx.TransportError:
        return False
