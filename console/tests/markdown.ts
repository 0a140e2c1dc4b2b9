import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOfText } from "@/dashboards/tiles";
import { headingLevels, linkOf, partsOf, readMarkdown } from "@/ui/markdown";

const kinds = (text: string) => readMarkdown(text)?.map(({ type }) => type);

test("only absolute addresses of the web and of mail are followed", () => {
  assert.equal(linkOf("https://example.com/a b"), "https://example.com/a%20b");
  assert.equal(linkOf("HTTP://example.com"), "http://example.com/");
  assert.equal(linkOf("mailto:ann@example.com"), "mailto:ann@example.com");
  for (const address of [
    "javascript:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "blob:https://example.com/1",
    "file:///etc/passwd",
    "//example.com",
    "/project/1",
    "#top",
    "",
  ]) {
    assert.equal(linkOf(address), null, address);
  }
});

test("HTML is a part that is shown as it was written", () => {
  assert.deepEqual(kinds('<img src="x" onerror="alert(1)">'), ["html"]);
  const [paragraph] = readMarkdown("a <b onclick=alert(1)>b</b>") ?? [];
  assert.ok(paragraph !== undefined && paragraph.type === "paragraph");
  assert.deepEqual(
    partsOf(paragraph.tokens).map(({ type }) => type),
    ["text", "html", "text", "html"],
  );
});

test("headings follow that of the screen without leaving out a level", () => {
  const levelsOf = (text: string) => [...headingLevels(readMarkdown(text) ?? []).values()];

  assert.deepEqual(levelsOf("# a\n\n## b\n\n# c"), ["h2", "h3", "h2"]);
  assert.deepEqual(levelsOf("### a\n\n###### b\n\n## c"), ["h2", "h3", "h3"]);
});

test("hostile texts are read, or not at all", () => {
  const most = 4_000;
  for (const sign of [
    ">",
    "> ",
    "- ",
    "[",
    "![",
    "*",
    "_*",
    "`",
    "(",
    "<",
    "<a ",
    "|",
    "a|",
    "\\",
    "1. ",
  ]) {
    const text = sign.repeat(Math.floor(most / sign.length));
    const parts = readMarkdown(text);
    assert.ok(parts === null || parts.length > 0, sign);
  }
  assert.equal(readMarkdown(`${"> ".repeat(200)}deep`), null);
});

test("a text is named by its first words", () => {
  assert.equal(nameOfText("\n## **Sales** of [May](https://example.com)\n\nUp"), "Sales of May");
  assert.equal(nameOfText("- `first`"), "first");
  assert.equal(nameOfText("***"), "Text");
  assert.equal(nameOfText("x".repeat(100)), `${"x".repeat(60)}…`);
});
