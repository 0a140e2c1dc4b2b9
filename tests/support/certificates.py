"""Certificates that tests sign themselves."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


def make_certificate(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of a server with a new certificate, and of a client that trusts it.

    Args:
        names: As in a certificate: `DNS:localhost` or `IP:127.0.0.1`.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    named = ("-subj", "/CN=test", "-addext", f"subjectAltName={','.join(names)}")
    request = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *named)
    files = ("-keyout", str(key), "-out", str(certificate))
    subprocess.run([openssl, *request, *files], check=True, capture_output=True)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    return serving, ssl.create_default_context(cafile=str(certificate))
