import { autocompletion, type CompletionSource } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { completionsAt, type NamesOfSql } from "@/insights/sql/completions";
import { KEYWORDS } from "./keywords";

// A name does not begin further away.
const BEFORE_MAX = 300;
const SHOWN_MAX = 100;

/** Completes names as they are typed. names: those known by now */
export function completion(names: () => NamesOfSql | null): Extension {
  const source: CompletionSource = ({ state, pos, explicit }) => {
    const known = names();
    const node = syntaxTree(state).resolveInner(pos, -1).name;
    if (known === null || node === "String" || node.endsWith("Comment")) return null;
    const start = Math.max(0, pos - BEFORE_MAX);
    const found = completionsAt(state.sliceDoc(start, pos), known, KEYWORDS, explicit);
    return found && { from: start + found.from, options: found.options, validFor: /^\.?[\w$]*$/ };
  };
  return autocompletion({ override: [source], maxRenderedOptions: SHOWN_MAX, icons: false });
}
