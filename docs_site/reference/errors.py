"""The reference of errors, read from the classes that the program raises."""

import ast
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import fanion
from docs_site.reference.markdown import code, plain, table
from docs_site.sources import ROOT
from fanion.errors import AppError

_SOURCE = ROOT / "src" / "fanion"
# They run when they are imported, and define no errors.
_NOT_IMPORTED = ("fanion.__main__", "fanion.db.migrations.")
_HEAD = """# Errors

Every error of the API is JSON with `type`, `code`, `detail` and `attr`: the field that is wrong, or
null. Programs decide by the status and the code; `detail` is for people, and often says more than
the texts in this table.

"""


def errors_page() -> str:
    classes = error_classes()
    details: dict[tuple[str, ...], set[str]] = {}
    for error in classes:
        details.setdefault(_key(error, error.default_code), set()).add(_meaning(error))
    by_name = {error.__name__: error for error in classes}
    for path in sorted(_SOURCE.rglob("*.py")):
        text = path.read_text()
        tree = ast.parse(text if "code=" in text else "")
        for name, own_code, detail in _codes_of_calls(tree):
            if name in by_name:
                details.setdefault(_key(by_name[name], own_code), set()).add(detail)
    rows = [(*key, _joined(texts)) for key, texts in sorted(details.items())]
    return _HEAD + table(("Status", "Code", "Type", "Detail"), rows)


def error_classes() -> list[type[AppError]]:
    """Return all errors that answer a request."""
    for module in pkgutil.walk_packages(fanion.__path__, "fanion."):
        if not module.name.startswith(_NOT_IMPORTED):
            import_module(module.name)
    return sorted(_subclasses(AppError), key=lambda error: (error.status, error.__qualname__))


def _key(error: type[AppError], its_code: str) -> tuple[str, ...]:
    return str(error.status), code(its_code), code(error.type)


def _joined(texts: set[str]) -> str:
    return "<br>".join(plain(text) for text in sorted(texts) if re.search(r"\w", text))


def _codes_of_calls(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Yield class, code and detail of errors with their own code."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            given = {one.arg: one.value for one in call.keywords}.get("code")
            if isinstance(given, ast.Constant):
                yield call.func.id, str(given.value), _text(call.args[0] if call.args else None)


def _text(node: ast.expr | None) -> str:
    """Return a text of the source, with dots for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "…" if isinstance(node, ast.FormattedValue) else ""


def _subclasses(error: type[AppError]) -> Iterator[type[AppError]]:
    for child in error.__subclasses__():
        yield child
        yield from _subclasses(child)


def _meaning(error: type[AppError]) -> str:
    """Return the error's detail, or that of its class if it has none."""
    has_detail = error.default_detail != AppError.default_detail
    return error.default_detail if has_detail else (error.__doc__ or "").partition("\n")[0]
