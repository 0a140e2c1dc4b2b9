import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The tokens of app.css, so that light and dark need no themes of their own.
const shapes = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--panel)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused .cm-scroller": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-gutters": {
    // Lines wrap, so nothing moves below it; the outline of the focus is below.
    backgroundColor: "transparent",
    color: "var(--ink-3)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-matchingBracket": { backgroundColor: "var(--sunken) !important", fontWeight: "600" },
  ".cm-nonmatchingBracket": { backgroundColor: "var(--bad-soft) !important" },
  ".cm-sql-error": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-sql-error-text": {
    backgroundColor: "var(--bad-soft)",
    color: "var(--bad)",
    fontFamily: "system-ui, sans-serif",
    padding: "2px 8px",
    whiteSpace: "pre-wrap",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--panel)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--ink)",
  },
  ".cm-completionDetail": { color: "var(--ink-3)", fontStyle: "normal" },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent-text)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--info)" },
  { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
]);

/** The colours and shapes of the editor. */
export const look: Extension = [shapes, syntaxHighlighting(colours)];
