"""Tables of Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def code(text: str) -> str:
    """Return a text as code, or "" for none."""
    return f"`{text}`" if text else ""


def plain(text: str) -> str:
    """Return a text of the program that is not Markdown, such that none of it is taken for tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
