"""The reference of settings, read from their fields and the texts below these."""

import ast
from collections.abc import Iterator
from inspect import cleandoc

from docs_site.reference.commands import iter_commands
from docs_site.reference.markdown import code, table
from docs_site.sources import ROOT
from fanion.config import PREFIX, Settings

_FIELDS = ROOT / "src" / "fanion" / "config" / "fields.py"


def settings_table() -> str:
    """Return the table that the page of settings has in place of the link to their fields."""
    defaults, options = Settings(), _options_of_serve()
    rows = (
        (
            code(f"{PREFIX}{name.upper()}"),
            code(options.get(name, "")),
            code(_default_text(getattr(defaults, name))),
            text,
        )
        for name, text in iter_settings()
    )
    return table(("Variable", "Flag", "Default", "Meaning"), rows)


def iter_settings() -> Iterator[tuple[str, str]]:
    """Yield each setting with the text that describes it."""
    tree = ast.parse(_FIELDS.read_text())
    [fields] = (node for node in tree.body if isinstance(node, ast.ClassDef))
    name = ""
    for node in fields.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        elif name and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield name, cleandoc(str(node.value.value))


def _options_of_serve() -> dict[str, str]:
    """Return the options of `fanion serve`, by their settings."""
    [serve] = (command for words, command in iter_commands() if words == ("fanion", "serve"))
    return {parameter.name: parameter.opts[0] for parameter in serve.params}


def _default_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
