/** Rules of path cleaning, applied in the browser to show what they do. */

export interface CleaningRule {
  /** In the syntax of RE2. */
  regex: string;
  /** `\0` to `\9` stand for the groups of a match. */
  alias: string;
}

interface Cleaned {
  text: string;
  /** The places of the rules that only the server can apply. */
  skipped: number[];
}

/** Return what a path becomes: each rule replaces every match, one rule after the other. */
export function cleanedPath(path: string, rules: readonly CleaningRule[]): Cleaned {
  let text = path;
  const skipped: number[] = [];
  rules.forEach(({ regex, alias }, place) => {
    if (regex === "") return;
    const pattern = compiled(regex);
    if (pattern === null) skipped.push(place);
    else text = text.replace(pattern, (...found: unknown[]) => replaced(alias, found));
  });
  return { text, skipped };
}

// Syntax that RE2 and the browser read differently, or that the browser does not know.
const OTHERWISE = /\(\?P|\\[AzCQEpP]|\[\[:|\(\?[a-zA-Z-]*[)]/;
// Flags for the whole expression, which the browser takes beside it.
const FLAGS = /^\(\?([is]+)\)/;

function compiled(regex: string): RegExp | null {
  const flags = FLAGS.exec(regex);
  const rest = flags === null ? regex : regex.slice(flags[0].length);
  // RE2 has no look-around and no backreferences.
  if (OTHERWISE.test(rest) || /\(\?<?[=!]|\\[1-9]/.test(rest)) return null;
  try {
    return new RegExp(rest, `gu${[...new Set(flags?.[1] ?? "")].join("")}`);
  } catch {
    return null;
  }
}

/** found: the match, its groups, and more that is not text. */
function replaced(alias: string, found: readonly unknown[]): string {
  return alias.replace(/\\(\d|\\)/g, (_, which: string) => {
    if (which === "\\") return "\\";
    const group = found[Number(which)];
    return typeof group === "string" ? group : "";
  });
}
