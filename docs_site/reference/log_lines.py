"""The reference of log lines, read from the calls that write them."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from docs_site.reference.markdown import code, table
from docs_site.sources import ROOT

_SOURCE = ROOT / "src" / "fanion"
_LEVELS = {"debug": "debug", "info": "info", "warning": "warning", "error": "error"}
_LEVELS |= {"exception": "error"}
_LOGGER = re.compile(r"log(ger\(\))?$")
# What logs failures that last, and which of its arguments is their event.
_FAILURES = {"FailureLog": 1, "run_loop": 3}
# The events of a worker for rows that are due: `db/due_work`.
_DUE_WORK = {"waits", "all_wait"}
_MAY_WRITE = re.compile(r"log|run_loop|wait")
_EVENT = re.compile(r"[a-z]+(_[a-z]+)*")
# Arguments that are not fields of the line. Any error adds its traceback.
_NO_FIELDS = {"exc_info", "level", "clock", "quiet_s"}
_HEAD = """# Log lines

Every log line except those of [requests](../observe.md#the-log), by `event`. A failure that lasts
is logged once, and then with `failures` and `seconds`; `failure_ended` says when it is over.

"""


@dataclass
class _Line:
    levels: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)


def log_lines_page(pages: Path) -> str:
    """Return the page.

    Args:
        pages: The folder of the other pages, of which those are linked that name a line.
    """
    texts = {
        page: page.read_text() for page in sorted(pages.glob("*.md")) if page.name != "changelog.md"
    }
    rows = [
        (
            code(name),
            ", ".join(sorted(line.levels)),
            ", ".join(code(one) for one in sorted(line.fields)),
            ", ".join(code(module) for module in sorted(line.modules)),
            _links(name, texts),
        )
        for name, line in sorted(log_lines().items())
    ]
    return _HEAD + table(("Event", "Level", "Fields", "Written by", "See"), rows)


def log_lines() -> Mapping[str, _Line]:
    """Return the lines of all modules, by their events."""
    lines: dict[str, _Line] = {}
    for path in sorted(_SOURCE.rglob("*.py")):
        module = path.relative_to(_SOURCE).with_suffix("").as_posix()
        text = path.read_text()
        tree = ast.parse(text if _MAY_WRITE.search(text) else "")
        for event, level, fields in calls(tree):
            line = lines.setdefault(event, _Line())
            line.levels.add(level)
            line.fields |= fields
            line.modules.add(module)
    return lines


def calls(tree: ast.Module) -> Iterator[tuple[str, str, set[str]]]:
    """Yield event, level and fields of each line that a module writes."""
    constants = dict(_assigned(tree))
    for name in _DUE_WORK & constants.keys():
        yield constants[name], "warning", {"reason"}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (found := _event_and_level(call)):
            event, level, is_line = found
            text = constants.get(event.id) if isinstance(event, ast.Name) else _text(event)
            if text is not None and _EVENT.fullmatch(text):
                given = {one.arg for one in call.keywords if one.arg} - _NO_FIELDS
                yield text, level, given if is_line else {"reason"}


def _event_and_level(call: ast.Call) -> tuple[ast.expr, str, bool] | None:
    """Return event and level of what a call writes, and whether it writes one line at once."""
    if isinstance(call.func, ast.Attribute) and _LOGGER.search(ast.unparse(call.func.value)):
        level = _LEVELS.get(call.func.attr)
        return (call.args[0], level, True) if level and call.args else None
    words = [ast.unparse(word) for word in (call.func, *call.args)]
    for name, place in _FAILURES.items():
        # The name is called, or is the first argument of `partial`.
        at = words.index(name) + place if name in words[:2] else len(words)
        if at < len(words):
            level = {one.arg: _text(one.value) for one in call.keywords}.get("level")
            return call.args[at - 1], level or "warning", False
    return None


def _assigned(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names to which a module assigns texts, and the texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            [target] = node.targets[:1]
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for name, value in pairs:
                if isinstance(name, ast.Name) and (text := _text(value)) is not None:
                    yield name.id, text


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def _links(name: str, texts: Mapping[Path, str]) -> str:
    return ", ".join(
        f"[{page.stem}](../{page.name})" for page, text in texts.items() if f"`{name}`" in text
    )
