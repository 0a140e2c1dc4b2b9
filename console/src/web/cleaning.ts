/** A path cleaning rule of the project: matches are replaced, and rules apply in order. */
export interface Rule {
  regex: string;
  alias: string;
}

type Token = { text: string } | { pattern: string };

/** Return a pattern matching the paths that the rules turn into this one, or null if there is none.
 *
 * Source: the server applies rules one after the other, to every match.
 */
export function patternOf(path: string, rules: readonly Rule[]): string | null {
  if (!areReversible(rules)) return null;
  let tokens: Token[] = [{ text: path }];
  let [start, end] = ["", ""];
  for (const rule of rules.toReversed()) {
    if (rule.alias !== "") tokens = tokens.flatMap((token) => reversed(token, rule));
    else if (rule.regex.endsWith("$")) end = `(?:${rule.regex})?${end}`;
    else start = `${start}(?:${rule.regex})?`;
  }
  const pattern = tokens.map((one) => ("text" in one ? escaped(one.text) : one.pattern)).join("");
  return `^${start}${pattern}${end}$`;
}

/** Return whether each rule's matches can be recognized from its replacement alone. */
function areReversible(rules: readonly Rule[]): boolean {
  return rules.every(({ regex, alias }, place) => {
    const isOfEnd = regex.endsWith("$") || regex.startsWith("^");
    if (alias === "" ? !isOfEnd : /\\/.test(alias)) return false;
    return rules.slice(0, place).every((earlier) => !matches(regex, earlier.alias));
  });
}

/** Whether a rule may match the output of an earlier one. */
function matches(regex: string, alias: string): boolean {
  if (alias === "") return false;
  try {
    return new RegExp(regex).test(alias);
  } catch {
    // The server's regex syntax differs in rare cases.
    return true;
  }
}

function reversed(token: Token, { regex, alias }: Rule): Token[] {
  if (!("text" in token)) return [token];
  const pattern = `(?:${regex}|${escaped(alias)})`;
  return token.text
    .split(alias)
    .flatMap((text, place): Token[] => (place === 0 ? [{ text }] : [{ pattern }, { text }]));
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
