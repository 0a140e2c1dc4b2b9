"""The Dockerfile is one that buildah takes too, as far as that goes without its base image.

That would have to be loaded from a registry of images, so what `RUN` does is not run here.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.buildah import buildah

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
BUILT = "/opt/fanion"  # what RUN makes, and the last stage copies


def instructions() -> list[str]:
    """Return the instructions, each in one line, without comments."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    return [line for line in re.sub(r"\s*\\\n\s*", " ", "\n".join(lines)).splitlines() if line]


def shell_commands() -> list[str]:
    return [
        re.sub(r"^RUN (--\S+ )*", "", line) for line in instructions() if line.startswith("RUN ")
    ]


@pytest.mark.parametrize("command", shell_commands(), ids=lambda command: command[:30])
def test_a_shell_reads_each_command(command: str) -> None:
    done = subprocess.run(["sh", "-n", "-c", command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_company_certificates_are_added_to_those_of_the_system(tmp_path: Path) -> None:
    [command] = [command for command in shell_commands() if "/run/secrets/ca" in command]
    system, company, both = (tmp_path / name for name in ("system", "company", "both"))
    command = command.replace("/etc/ssl/certs/ca-certificates.crt", str(system))
    command = command.replace("/run/secrets/ca", str(company)).replace("/opt/ca.pem", str(both))
    system.write_text("public\n")

    results = []
    for _ in range(2):
        subprocess.run(["sh", "-c", command], check=True)
        results.append(both.read_text())
        company.write_text("of the company\n")

    assert results == ["public\n", "public\nof the company\n"]
    assert " PIP_CERT=/opt/ca.pem" in DOCKERFILE.read_text()


@pytest.mark.long("builds an image, which needs buildah")
def test_buildah_takes_every_instruction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder has the files to copy, and buildah understands the image's configuration."""
    build = buildah(tmp_path, monkeypatch)
    context = tmp_path / "context"
    shutil.copytree(ROOT / "deploy", context / "deploy")
    lines: list[str] = []
    for line in instructions():
        if line.startswith("FROM ") and lines[-1:] != [lines[0]]:
            lines.append(f"COPY deploy/Dockerfile {BUILT}/")
        if not line.startswith("RUN "):
            lines.append(re.sub(r"^FROM \S+", "FROM scratch", line))
    (context / "Dockerfile").write_text("\n".join(lines) + "\n")

    build("build", "--format", "docker", "--tag", "fanion", str(context))
    image = json.loads(build("inspect", "--type", "image", "fanion"))["Docker"]["config"]

    assert (image["User"], image["WorkingDir"]) == ("10001:10001", "/var/lib/fanion")
    assert image["Entrypoint"] == ["fanion"]
    assert image["Cmd"] == ["serve"]
    assert image["Healthcheck"]["Test"][0] == "CMD"
    assert image["Healthcheck"]["Interval"] == 10_000_000_000
    assert {*image["Volumes"], *image["ExposedPorts"]} == {"/var/lib/fanion", "8000/tcp"}
    assert "FANION_DATA=/var/lib/fanion" in image["Env"]
