import { type Extension, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import type { PlacedError } from "@/insights/sql/place";

/** Sets the error that is shown in the text; null removes it. */
export const setError = StateEffect.define<PlacedError | null>();

class ErrorText extends WidgetType {
  constructor(readonly detail: string) {
    super();
  }

  override eq(other: ErrorText): boolean {
    return other.detail === this.detail;
  }

  override toDOM(): HTMLElement {
    const line = document.createElement("div");
    line.className = "cm-sql-error-text";
    line.textContent = this.detail;
    return line;
  }
}

/** Underlines what an error is about, with its sentence below the line. It stays until the text is
 * changed. */
export const errorMark: Extension = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, transaction) => {
    for (const effect of transaction.effects) {
      if (effect.is(setError)) return marksOf(effect.value, transaction.state.doc);
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

interface Lines {
  length: number;
  lineAt: (place: number) => { to: number };
}

function marksOf(error: PlacedError | null, lines: Lines): DecorationSet {
  const part = error?.part ?? null;
  if (error === null || part === null || part.from > lines.length) return Decoration.none;
  const to = Math.min(part.to, lines.length);
  const marks: Range<Decoration>[] = [];
  if (to > part.from) marks.push(Decoration.mark({ class: "cm-sql-error" }).range(part.from, to));
  const text = Decoration.widget({ widget: new ErrorText(error.detail), block: true, side: 1 });
  marks.push(text.range(lines.lineAt(part.from).to));
  return Decoration.set(marks, true);
}
