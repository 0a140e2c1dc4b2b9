import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { type RefObject, useEffect, useRef } from "react";
import type { NamesOfSql } from "@/insights/sql/completions";
import type { PlacedError } from "@/insights/sql/place";
import { styleNonce } from "@/lib/nonce";
import { completion } from "./completion";
import { errorMark, setError } from "./errorMark";
import { KEYWORDS } from "./keywords";
import { look } from "./look";

/** What the screen does with the editor. */
export interface EditorHandle {
  /** Moves the cursor to a place of the text, and the focus into the editor. */
  goTo: (place: number) => void;
  /** Writes a name in place of what is selected, and moves the focus into the editor. */
  insert: (name: string) => void;
}

export interface SqlEditorProps {
  value: string;
  onChange: (text: string) => void;
  onRun: () => void;
  error: PlacedError | null;
  label: string;
  /** What is completed; null until it is loaded. */
  names: NamesOfSql | null;
  /** The id of the element that says which keys the editor has. */
  describedBy: string;
  handle: RefObject<EditorHandle | null>;
}

// Properties begin with a dollar sign: `properties.$browser`.
const dialect = SQLDialect.define({ keywords: KEYWORDS.join(" ").toLowerCase(), specialVar: "$" });

/** The editor of a query. Tab is not among its keys, so that it can be left with it. */
export function SqlEditor(props: SqlEditorProps) {
  const { value, error, handle } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (box.current === null) return;
    const made = new EditorView({
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          runKey(() => latest.current.onRun()),
          completion(() => latest.current.names),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) latest.current.onChange(state.doc.toString());
          }),
          EditorView.contentAttributes.of({
            "aria-label": latest.current.label,
            "aria-describedby": latest.current.describedBy,
            autocapitalize: "off",
          }),
          BASE,
        ],
      }),
      parent: box.current,
    });
    view.current = made;
    handle.current = {
      goTo: (place) => goTo(made, place),
      insert: (name) => insert(made, name),
    };
    return () => {
      handle.current = null;
      made.destroy();
    };
  }, [handle]);

  useEffect(() => {
    const made = view.current;
    const text = made?.state.doc.toString();
    if (made && text !== value)
      made.dispatch({ changes: { from: 0, to: text?.length ?? 0, insert: value } });
  }, [value]);
  useEffect(() => view.current?.dispatch({ effects: setError.of(error) }), [error]);
  return <div ref={box} className="h-full" />;
}

/** Replaces what is selected by what is typed. Chromium would do so with styles on elements, which the
 * page's policy does not allow. */
const overwrite = EditorView.domEventHandlers({
  beforeinput: ({ inputType, data, isComposing }, view) => {
    const { state } = view;
    if (inputType !== "insertText" || data === null || isComposing) return false;
    if (state.readOnly || state.selection.main.empty) return false;
    view.dispatch(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

const BASE: Extension = [
  lineNumbers(),
  history(),
  bracketMatching(),
  sql({ dialect }),
  EditorView.lineWrapping,
  EditorView.cspNonce.of(styleNonce()),
  errorMark,
  overwrite,
  look,
  keymap.of([...historyKeymap, ...defaultKeymap]),
];

/** Before all other keys, since one of those inserts a line. */
const runKey = (run: () => void): Extension =>
  keymap.of([
    {
      key: "Mod-Enter",
      run: () => {
        run();
        return true;
      },
    },
  ]);

function goTo(view: EditorView, place: number): void {
  const anchor = Math.min(place, view.state.doc.length);
  view.dispatch({ selection: { anchor }, scrollIntoView: true });
  view.focus();
}

/** Inserts a name, apart from a word before it. */
function insert(view: EditorView, name: string): void {
  const { state } = view;
  const { from } = state.selection.main;
  const before = state.sliceDoc(Math.max(0, from - 1), from);
  const text = /[\p{L}\p{N}_$,)]/u.test(before) ? ` ${name}` : name;
  view.dispatch(state.replaceSelection(text), { userEvent: "input", scrollIntoView: true });
  view.focus();
}
