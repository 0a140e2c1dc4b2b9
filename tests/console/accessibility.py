"""The rules of axe-core, run in a page as it is."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "console" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async rules => (await axe.run(document, {
  resultTypes: ['violations'],
  ...(rules.length ? { runOnly: { type: 'rule', values: rules } } : {}),
})).violations"""
# Rules that depend on the theme; the others find the same in each theme.
OF_COLOURS = ("color-contrast", "link-in-text-block")
# Resolves once another theme is drawn: colours in a transition are not colours of the page.
# Transitions begin with the first frame, after whatever was to run before it.
ENDED = """() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
  .then(() => Promise.all(document.getAnimations()
  .filter(one => one.effect?.getComputedTiming().endTime !== Infinity)
  .map(one => one.finished.catch(() => null))))"""


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Return the violations, each with its elements.

    Args:
        rules: Names of rules; none for all of them.
    """
    if not page.evaluate("() => 'axe' in window"):
        # The debugger adds the script, so that the page's policy does not apply.
        page.evaluate(_source())
    page.evaluate(ENDED)
    return [_line(violation) for violation in page.evaluate(RUN, list(rules))]


def _line(violation: dict[str, Any]) -> str:
    nodes = "".join(
        f"\n    {node['html'][:200]}\n    {_why(node)}" for node in violation["nodes"][:5]
    )
    return f"{violation['id']} ({violation['impact']}): {violation['help']}{nodes}"


def _why(node: dict[str, Any]) -> str:
    checks = [check["message"] for kind in ("any", "all", "none") for check in node[kind]]
    return "; ".join(checks)


@cache
def _source() -> str:
    if not AXE.exists():
        pytest.skip("axe-core is missing: run `npm ci` in console/")
    return AXE.read_text() + ";0"
