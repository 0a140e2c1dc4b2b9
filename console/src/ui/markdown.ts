import { lexer, type MarkedToken, type Token } from "marked";

/** Return the parts of a Markdown text, or null if it is nested too deeply to be read. */
export function readMarkdown(text: string): readonly MarkedToken[] | null {
  try {
    const parts = partsOf(lexer(text, { gfm: true }));
    return parts.every((part) => depthOf(part, DEPTH_MAX) < DEPTH_MAX) ? parts : null;
  } catch {
    return null;
  }
}

/** Return the parts within a part. There are no extensions, so that all kinds are known. */
export const partsOf = (tokens: readonly Token[] | undefined): readonly MarkedToken[] =>
  (tokens ?? []) as readonly MarkedToken[];

const DEPTH_MAX = 50;

/** Return how many levels of parts a part has, at most `most`. */
function depthOf(part: MarkedToken, most: number): number {
  if (most === 0) return 0;
  const within = part.type === "list" ? part.items : "tokens" in part ? partsOf(part.tokens) : [];
  return 1 + Math.max(0, ...within.map((one) => depthOf(one, most - 1)));
}

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Return the address if it may be followed: only absolute ones of the web, and of mail. */
export function linkOf(address: string): string | null {
  try {
    const { protocol, href } = new URL(address);
    return SCHEMES.has(protocol) ? href : null;
  } catch {
    return null;
  }
}

/** Return the level of each heading below that of the screen, without leaving one out. */
export function headingLevels(parts: readonly MarkedToken[]): ReadonlyMap<MarkedToken, Level> {
  const levels = new Map<MarkedToken, Level>();
  let last = 1;
  for (const part of parts) {
    if (part.type !== "heading") continue;
    last = Math.min(part.depth, last, LEVELS.length) + 1;
    levels.set(part, LEVELS[last - 2] ?? "h2");
  }
  return levels;
}

const LEVELS = ["h2", "h3", "h4", "h5", "h6"] as const;
export type Level = (typeof LEVELS)[number];
