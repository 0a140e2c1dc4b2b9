"""Clients that are generated from the server's API document, and the programs that use them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from tests.clients.generated.task import Task
from tests.clients.management import Json

HERE = Path(__file__).parent
PROGRAM_S = 120
# A process that ends in seconds takes half of the time with these.
SHORT_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
TOOLS = HERE.parents[2] / ".venv" / "clients" / "generators"
PYTHON_PACKAGES, JARS = TOOLS / "python", TOOLS / "java"
NODE_PACKAGES = HERE.parent / "npm" / "node_modules"

Program = tuple[list[str], Mapping[str, str]]


@dataclass(frozen=True)
class GeneratedClient:
    """A client that a generator makes with its default settings.

    Attributes:
        build: It takes the document and an empty folder, generates and compiles, and returns the
            command of the program and its environment.
        require: It skips the test where a tool is missing.
    """

    name: str
    build: Callable[[Path, Path], Program]
    require: Callable[[], None]

    def run(self, document: Path, folder: Path, task: Task) -> Json:
        """Generate and compile the client, do the task, and return what the program saw."""
        command, environment = self.build(document, folder)
        own = json.dumps(asdict(replace(task, name=self.name)))
        seen: Json = json.loads(run(command, folder, {**environment, "TASK": own}))
        return seen


def run(command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command in a folder; return the last line that it prints."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | dict(environment or {}),
        capture_output=True,
        text=True,
        timeout=PROGRAM_S,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    return (done.stdout.splitlines() or [""])[-1]


def require_python_packages() -> None:
    if not (PYTHON_PACKAGES / ".installed").exists():
        pytest.skip(f"{PYTHON_PACKAGES} is missing: `make test-all` installs it from PyPI")


def openapi_python_client(document: Path, folder: Path) -> Program:
    # Its default settings format what it generates, with its own `ruff`.
    path = os.pathsep.join((str(PYTHON_PACKAGES / "bin"), os.environ["PATH"]))
    packages = {"PYTHONPATH": str(PYTHON_PACKAGES), "PATH": path}
    generate = ["openapi_python_client", "generate", "--path", str(document)]
    run([sys.executable, "-m", *generate, "--output-path", "client"], folder, packages)
    return _python_program(folder / "client", "openapi_python_client_program.py")


def _python_program(client: Path, program: str) -> Program:
    run([sys.executable, "-m", "compileall", "-q", str(client)], client)
    path = os.pathsep.join((str(client), str(PYTHON_PACKAGES)))
    return [sys.executable, str(HERE / program)], {"PYTHONPATH": path}


def require_node_packages() -> None:
    if shutil.which("node") is None:
        pytest.skip("no Node found: install the packages `nodejs` and `npm`")
    if not (NODE_PACKAGES / "openapi-typescript").exists():
        pytest.skip(f"{NODE_PACKAGES} is missing: `make test` installs it, with npm if there is")


def openapi_typescript(document: Path, folder: Path) -> Program:
    run([_node_tool("openapi-typescript"), str(document), "-o", "schema.d.ts"], folder)
    return _typescript_program(folder, "openapi_fetch_program.ts")


def _typescript_program(folder: Path, program: str) -> Program:
    (folder / "node_modules").symlink_to(NODE_PACKAGES)
    copy = str(shutil.copy(HERE / program, folder))
    options = ["--strict", "--target", "es2022", "--module", "node16", "--lib", "es2022,dom"]
    run([_node_tool("tsc"), *options, "--outDir", "compiled", copy], folder)
    return ["node", str(folder / "compiled" / f"{Path(program).stem}.js")], {}


def _node_tool(name: str) -> str:
    return str(NODE_PACKAGES / ".bin" / name)


def require_java() -> None:
    if shutil.which("javac") is None:
        pytest.skip("no javac found: install the package `default-jdk-headless`")
    if not (JARS / ".installed").exists():
        pytest.skip(f"{JARS} is missing: `make test-all` installs it, with `maven`")


def _openapi_generator(language: str, document: Path, folder: Path) -> Path:
    """Return the folder of the generated client."""
    (jar,) = JARS.glob("openapi-generator-cli-*.jar")
    generate = ["generate", "-i", str(document), "-g", language, "-o", "client"]
    run(["java", *SHORT_JVM, "-jar", str(jar), *generate], folder)
    return folder / "client"


def require_java_and_python() -> None:
    require_java()
    require_python_packages()


def openapi_generator_python(document: Path, folder: Path) -> Program:
    client = _openapi_generator("python", document, folder)
    return _python_program(client, "openapi_generator_program.py")


def require_java_and_node() -> None:
    require_java()
    require_node_packages()


def openapi_generator_typescript(document: Path, folder: Path) -> Program:
    _openapi_generator("typescript-fetch", document, folder)
    return _typescript_program(folder, "openapi_generator_program.ts")


def require_java_and_go() -> None:
    require_java()
    if shutil.which("go") is None:
        pytest.skip("no Go found: install the package `golang-go`")
    if not (TOOLS / "go" / ".installed").exists():
        pytest.skip("modules of Go are missing: `make test-all` loads them")


def openapi_generator_go(document: Path, folder: Path) -> Program:
    client = _openapi_generator("go", document, folder)
    (client / "program").mkdir()
    shutil.copy(HERE / "openapi_generator_program.go", client / "program" / "main.go")
    shutil.copy(HERE / "go.sum", client)
    offline = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    run(["go", "build", "-o", str(folder / "compiled"), "./program"], client, offline)
    return [str(folder / "compiled")], {}


def openapi_generator_java(document: Path, folder: Path) -> Program:
    client = _openapi_generator("java", document, folder)
    sources = [str(path) for path in (client / "src" / "main").rglob("*.java")]
    jars = [str(path) for path in JARS.glob("*.jar") if not path.match("openapi-generator-*")]
    options = ["-nowarn", "-proc:none", "-d", "compiled", "-cp", os.pathsep.join(jars)]
    jvm = [f"-J{option}" for option in SHORT_JVM]
    program = str(HERE / "OpenapiGeneratorProgram.java")
    run(["javac", *jvm, *options, program, *sources], folder)
    path = os.pathsep.join((str(folder / "compiled"), *jars))
    return ["java", *SHORT_JVM, "-cp", path, "OpenapiGeneratorProgram"], {}


CLIENTS = (
    GeneratedClient("openapi-python-client", openapi_python_client, require_python_packages),
    GeneratedClient("openapi-typescript", openapi_typescript, require_node_packages),
    GeneratedClient("openapi-generator-python", openapi_generator_python, require_java_and_python),
    GeneratedClient(
        "openapi-generator-typescript", openapi_generator_typescript, require_java_and_node
    ),
    GeneratedClient("openapi-generator-go", openapi_generator_go, require_java_and_go),
    GeneratedClient("openapi-generator-java", openapi_generator_java, require_java),
)
