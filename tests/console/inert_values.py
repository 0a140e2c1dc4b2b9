"""A check that values of strangers have become nothing but text in a page."""

from playwright.sync_api import Page

# Finds elements that run or load, links that run, links that tell where they were clicked, and text
# that changes the direction of the text around it.
FOUND = r"""() => {
  const found = [];
  const tell = (why, element) => found.push(`${why}: ${element.outerHTML.slice(0, 200)}`);
  const runs = 'img[onerror], svg[onload], script:not([nonce]), iframe, object, embed';
  for (const element of document.querySelectorAll(runs)) tell('runs or loads', element);
  for (const link of document.querySelectorAll('a[href]')) {
    const { protocol, host } = new URL(link.href);
    if (!['http:', 'https:', 'mailto:'].includes(protocol)) tell('link', link);
    const rel = link.relList;
    if (protocol !== 'mailto:' && host !== location.host
        && !(rel.contains('noopener') && rel.contains('noreferrer'))) tell('leads out', link);
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (!/[\u202a-\u202e\u2066-\u2069]/.test(texts.currentNode.data)) continue;
    let element = texts.currentNode.parentElement;
    const inline = (one) => getComputedStyle(one).display === 'inline';
    while (inline(element) && getComputedStyle(element).unicodeBidi === 'normal') {
      element = element.parentElement;
    }
    const isAlone = element.textContent.trim() === texts.currentNode.data.trim();
    if (getComputedStyle(element).unicodeBidi === 'normal' && !isAlone) tell('turns', element);
  }
  if ({}.polluted !== undefined) found.push('Object.prototype was changed');
  if (document.title === 'owned') found.push('a script of a value ran');
  return found;
}"""


def expect_only_text(page: Page) -> None:
    problems = page.evaluate(FOUND)
    assert not problems, "\n".join(["values are more than text:", *problems])
