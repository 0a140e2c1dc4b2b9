"""The insight page: its URL, and what it shows of a question and its answer."""

import csv
import json
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Locator, expect

from tests.console.project import Project
from tests.console.screen import Console


def insight(project: Project, **question: object) -> str:
    """Return the path of a question, whose parts stand in the address as JSON."""
    texts = {
        name: part if isinstance(part, str) else json.dumps(part) for name, part in question.items()
    }
    return project.at(f"insights/new?{'&'.join(f'{k}={quote(v)}' for k, v in texts.items())}")


def chart(console: Console) -> Locator:
    return console.page.get_by_role("region", name="Result").get_by_role("slider")


def sentence(console: Console) -> Locator:
    return console.page.get_by_role("note", name="The question as a sentence")


def rows_of(file: Path) -> list[list[str]]:
    return list(csv.reader(file.read_text(encoding="utf-8-sig").splitlines()))


def numbers(console: Console) -> list[list[str]]:
    """Return the rows of the table below the chart, each with its name."""
    table = console.page.get_by_role("region", name="Numbers")
    expect(table).to_be_visible()
    return [
        row.get_by_role("rowheader").all_inner_texts() + row.get_by_role("cell").all_inner_texts()
        for row in table.get_by_role("row").all()[1:]
    ]


def drawer(console: Console, of: str = "Persons") -> Locator:
    return console.page.get_by_role("dialog", name=f"{of} behind this number")
