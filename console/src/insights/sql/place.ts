/** A part of a text, by UTF-16 units. */
export interface Part {
  from: number;
  to: number;
}

/** An error about a query; part: what it is about, null for all of it. */
export interface PlacedError {
  detail: string;
  part: Part | null;
}

const PLACE = / Line (\d+), column (\d+)\.$/;
const WORD = /^(?:[\p{L}\p{N}_$]+|.)/u;

/** Find the part of a text that an error of the API names by line and column. */
export function placeError(detail: string, text: string): PlacedError {
  const found = PLACE.exec(detail);
  if (found === null) return { detail, part: null };
  const [line, column] = [Number(found[1]), Number(found[2])];
  const lines = text.split("\n");
  const shown = lines[line - 1];
  if (shown === undefined) return { detail, part: null };
  // The server counts characters, of which some are two units here.
  const before = [...shown].slice(0, column - 1).join("").length;
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + before;
  const word = WORD.exec(text.slice(start))?.[0] ?? "";
  return { detail, part: { from: start, to: Math.min(start + word.length, text.length) } };
}
