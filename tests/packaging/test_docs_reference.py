"""The reference that is made from the code names all of it.

`tests/observability/test_documented_metrics.py` compares its metrics with those of a server.
"""

import ast
import re
from typing import Any

import pytest

from docs_site.reference.commands import commands_page, iter_commands
from docs_site.reference.endpoints import endpoints_page
from docs_site.reference.errors import error_classes, errors_page
from docs_site.reference.log_lines import calls, log_lines_page
from docs_site.reference.markdown import plain, table
from docs_site.reference.metrics import metrics_table
from docs_site.reference.settings import iter_settings, settings_table
from docs_site.sources import DOCS
from fanion.config import PREFIX, Settings
from fanion.errors import Invalid, NotFound
from fanion.web.openapi.document import iter_operations
from tests.packaging.test_docstrings import FRAGMENT
from tests.packaging.test_documented_names import leads_nowhere
from tests.support.application import Tenant


def rows_of(page: str) -> dict[str, list[str]]:
    """Return the cells of each row, by the code in its first or second one."""
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return {cell.strip("`"): row for row in rows for cell in row[:2] if cell.startswith("`")}


def test_every_command_has_its_options() -> None:
    page = commands_page()
    names = [" ".join(words) for words, _ in iter_commands()]

    assert {"fanion serve", "fanion users add", "fanion flags snapshot"} <= set(names)
    assert re.findall(r"(?m)^## (.+)$", page) == names
    restore = page.partition("## fanion restore\n")[2].partition("\n## ")[0]
    assert "| `--from` | required | A folder, or s3://bucket/prefix. |" in restore
    for words, command in iter_commands():
        section = page.partition(f"## {' '.join(words)}\n")[2].partition("\n## ")[0]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {option for option in options if option.startswith("-")} <= set(
            re.findall(r"`(-[\w-]+)`", section)
        )


def test_every_setting_has_its_default_and_its_meaning() -> None:
    described = dict(iter_settings())
    rows = {name: row for name, row in rows_of(settings_table()).items() if name[0] != "-"}
    links = re.findall(r"\]\(([^)\s]+)\)", settings_table())

    assert tuple(described) == Settings.__struct_fields__
    assert rows.keys() == {f"{PREFIX}{name.upper()}" for name in described}
    assert all(len(row) == 4 and row[3].endswith(".") for row in rows.values())
    for name, text in described.items():
        assert text.splitlines()[0].endswith("."), name
        assert not FRAGMENT.match(text), name
    assert rows[f"{PREFIX}PORT"] == [f"`{PREFIX}PORT`", "`--port`", "`8000`", "Port to listen on."]
    assert rows[f"{PREFIX}WEBHOOKS_ALLOW_PRIVATE"][1:3] == ["", "`false`"]
    assert len(links) > 10
    assert [link for link in links if leads_nowhere(DOCS / "configuration.md", link)] == []


def test_every_metric_has_its_type_and_its_meaning() -> None:
    rows = rows_of(metrics_table())

    assert rows["fanion_store_ready{store}"][1] == "gauge"
    assert all(len(row) == 3 and len(row[2]) > 5 for row in rows.values())


async def test_every_operation_of_the_api_is_described(tenant: Tenant) -> None:
    schema: Any = (await tenant.public.get("/api/schema/")).json()
    page = endpoints_page(schema)

    operations = {f"`{method.upper()} {path}`" for path, method, _ in iter_operations(schema)}
    assert set(re.findall(r"(?m)^(`[A-Z]+ /\S+`)$", page)) == operations
    assert len(operations) > 200
    flag = page.partition("### Create a feature flag\n")[2].partition("\n### ")[0]
    assert "| `key` | string, required |" in flag
    assert "```sh\ncurl" in flag


@pytest.mark.long("imports every module")
def test_every_error_has_its_status_and_code() -> None:
    page = errors_page()
    rows = rows_of(page)

    for error in error_classes():
        assert rows[error.default_code][0] == str(error.status), error
    assert {Invalid, NotFound} <= set(error_classes())
    # Codes that classes do not have, and calls give.
    assert rows["unique"][:3] == ["400", "`unique`", "`validation_error`"]
    assert "There is already a role with this name.<br>" in rows["unique"][3]
    assert rows["log_full"][0] == "503"


@pytest.mark.long("parses every module")
def test_every_log_line_of_a_page_is_in_the_reference() -> None:
    rows = rows_of(log_lines_page(DOCS))
    pages = "".join(path.read_text() for path in DOCS.glob("*.md"))
    named = set(re.findall(r"log line `(\w+)`", pages))

    assert len(named) >= 4
    assert named <= rows.keys()
    assert rows["spool_sent"][1:3] == ["info", "`file`, `requests`"]
    assert "[observe](../observe.md)" in rows["store_not_ready"][4]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (
            'structlog.get_logger().error("a_b", reason=x, exc_info=e)',
            ("a_b", "error", {"reason"}),
        ),
        ('self._log.exception("ended", task=x)', ("ended", "error", {"task"})),
        ('FailureLog("waits", level="error")', ("waits", "error", {"reason"})),
        ('WAITS = "waits"\nFailureLog(WAITS)', ("waits", "warning", {"reason"})),
        ('run_loop(work, 1, "waits", ())', ("waits", "warning", {"reason"})),
        ('e = "waits"\npartial(run_loop, work, 1, e, ())', ("waits", "warning", {"reason"})),
        ('class Worker:\n    waits = "row_waits"', ("row_waits", "warning", {"reason"})),
        ('fields.error("name")', None),
        ('print("name")', None),
    ],
)
def test_a_call_that_writes_a_line_is_recognized(
    source: str, found: tuple[str, str, set[str]] | None
) -> None:
    assert list(calls(ast.parse(source))) == ([] if found is None else [found])


def test_texts_of_the_program_cannot_break_a_table() -> None:
    text = table(("A",), [(plain("a | b\n<script>&amp;"),)])

    assert text.splitlines()[-1] == "| a \\| b &lt;script>&amp;amp; |"
