"""The proxies nginx and Caddy with the samples of deploy/, in front of a real server."""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from fanion.config import PREFIX
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys

DEPLOY = Path(__file__).parents[2] / "deploy"
PUBLIC, MANAGEMENT = "fanion.example.com", "manage.fanion.example.com"
SHARED = "example.com"  # with other things on it: Fanion is below /fanion
NGINX_SAMPLES = ("nginx.conf", "nginx-path.conf")
CADDY_SAMPLES = ("Caddyfile", "Caddyfile-path")
CHECK_S = 120
# Another loopback address, so that a client's address differs from a proxy's.
CLIENT = "127.0.0.2"
TRUSTING = {f"{PREFIX}TRUSTED_PROXIES": "127.0.0.1"}


@dataclass(frozen=True)
class ProxiedServer:
    """A server behind a proxy.

    Attributes:
        scheme: The proxy's.
        port: The proxy's.
    """

    server: PreloadedServer
    keys: Keys
    scheme: str
    port: int

    @contextmanager
    def client(self, host: str, address: str = CLIENT) -> Iterator[httpx.Client]:
        transport = httpx.HTTPTransport(verify=False, local_address=address)
        url = f"{self.scheme}://127.0.0.1:{self.port}"
        headers = {"host": host}
        with httpx.Client(transport=transport, base_url=url, headers=headers, timeout=30) as client:
            yield client

    @property
    def origin(self) -> str:
        """The origin of links, which are followed through the proxy by their path."""
        return f"{self.scheme}://{SHARED}"

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


def nginx_configuration(folder: Path, ports: dict[str, int], name: str = NGINX_SAMPLES[0]) -> Path:
    """Return a whole configuration with the sample, adapted to this machine."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    run_checked(
        *(program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
        *("-subj", f"/CN={PUBLIC}", "-keyout", str(key), "-out", str(certificate)),
    )
    sample = (DEPLOY / name).read_text()
    exchanged = {
        r"server 127\.0\.0\.1:8000;": f"server 127.0.0.1:{ports['server']};",
        r"listen 443 ssl;": f"listen 127.0.0.1:{ports['proxy']} ssl;",
        r"/etc/ssl/\w+/fullchain\.pem": str(certificate),
        r"/etc/ssl/\w+/privkey\.pem": str(key),
    }
    if name == NGINX_SAMPLES[0]:
        exchanged |= {
            r"server 127\.0\.0\.1:8001;": f"server 127.0.0.1:{ports['management']};",
            r"listen 80;": f"listen 127.0.0.1:{ports['plain']};",
        }
    exchanged |= {r"/var/log/nginx/": f"{folder}/"}
    for written, here in exchanged.items():
        sample, count = re.subn(written, here, sample)
        assert count, written
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;" if os.getuid() == 0 else ""
    whole = folder / "nginx.conf"
    whole.write_text(
        f"{user} daemon off; pid {folder}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off; {places}\n{sample}\n}}\n"
    )
    return whole


def caddy_configuration(
    folder: Path, ports: dict[str, int], name: str = CADDY_SAMPLES[0], host: str = ""
) -> Path:
    """Return a configuration file with the sample.

    Args:
        host: Replaces the name that the sample has.
    """
    sample = (DEPLOY / name).read_text()
    port = ports["proxy"]
    sample = sample.replace("127.0.0.1:8000", f"127.0.0.1:{ports['server']}")
    if name == CADDY_SAMPLES[0]:
        sample = sample.replace("127.0.0.1:8001", f"127.0.0.1:{ports['management']}")
    sample, sites = re.subn(
        r"^(\S*example\.com) \{",
        lambda name: f"http://{host or name[1]}:{port} {{",
        sample,
        flags=re.MULTILINE,
    )
    sample, options = re.subn(r"^\{$", "{\n\tadmin off", sample, count=1, flags=re.MULTILINE)
    assert (sites, options) == (1 if name == CADDY_SAMPLES[1] else 2, 1)
    whole = folder / "Caddyfile"
    whole.write_text(sample)
    return whole


def proxy_command(sample: str, folder: Path, ports: dict[str, int], host: str) -> list[str]:
    if sample in NGINX_SAMPLES:
        configuration = nginx_configuration(folder, ports, sample)
        return [program("nginx"), "-p", str(folder), "-c", str(configuration)]
    configuration = caddy_configuration(folder, ports, sample, host)
    return [program("caddy"), "run", "--config", str(configuration), "--adapter", "caddyfile"]


@contextmanager
def open_proxied_server(
    sample: str,
    host: str,
    health: str,
    folder: Path,
    ports: dict[str, int],
    settings: dict[str, str],
) -> Iterator[ProxiedServer]:
    """Run a server behind a proxy.

    Args:
        health: The path that answers, on `host`, once everything is up.
    """
    server = PreloadedServer(folder / "data", settings)
    keys = server.setup()
    server.start()
    behind = ProxiedServer(server, keys, scheme_of(sample), ports["proxy"])
    try:
        with started_proxy(sample, folder, ports | {"server": server.port}):
            until(lambda: is_up(behind, host, health), "the proxy does not answer")
            yield behind
    finally:
        server.close()


def scheme_of(sample: str) -> str:
    return "https" if sample in NGINX_SAMPLES else "http"


@contextmanager
def started_proxy(
    sample: str, folder: Path, ports: dict[str, int], host: str = ""
) -> Iterator[None]:
    """Run a proxy.

    Args:
        ports: Those of the server, of the proxy, and others that the sample names.
        host: The name that Caddy answers to, instead of the sample's; nginx answers to any.
    """
    program("nginx" if sample in NGINX_SAMPLES else "caddy")
    command = proxy_command(sample, folder, ports, host)
    environment = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    log = folder / "proxy.log"
    with log.open("wb") as file:
        proxy = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        until(
            lambda: proxy.poll() is not None or is_listening(ports["proxy"]),
            "the proxy does not start",
        )
        assert proxy.poll() is None, log.read_text()
        yield
    finally:
        # The signal that ends each of them without waiting for open streams.
        proxy.send_signal(signal.SIGTERM if sample in NGINX_SAMPLES else signal.SIGQUIT)
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
