import { isObject } from "@/insights/question/reading";
import { formatNumber } from "@/words/format";
import { words } from "@/words/insights";
import type { Asked, Kind } from "./kind";

/** How many breakdown values a series or formula shows, and how many it has. */
interface ValueCount {
  shown: number;
  /** null if there are too many to count */
  total: number | null;
}

// Less is not shown, as seconds have two decimals.
const SHORTEST = 0.01;

/** "1,204 rows read in 0.3 s", or undefined for an answer that an earlier version kept. */
export function costOf({ answer }: Pick<Asked, "answer">): string | undefined {
  const { rows_read: rows, seconds } = answer.beside;
  if (typeof seconds !== "number") return undefined;
  const took = formatNumber(Math.max(seconds, SHORTEST));
  return typeof rows === "number" ? words.rowsRead(rows, took) : words.took(took);
}

/** What there is to say about the numbers of an answer, such as "25 of 311 values shown". */
export function notesOf(kind: Kind, asked: Asked): readonly string[] {
  const own = kind.note?.(asked) ?? null;
  const values = valuesNote(readCounts(asked), kind.brokenDown?.(asked.question) ?? []);
  return [values, own].filter((note) => note !== null);
}

const readCounts = ({ answer }: Asked): ValueCount[] =>
  listOf(answer.beside.breakdown_values).filter(isObject).map(readCount);

const listOf = (given: unknown): unknown[] => (Array.isArray(given) ? given : []);

const readCount = ({ shown, total }: Record<string, unknown>): ValueCount => ({
  shown: Number(shown),
  total: typeof total === "number" ? total : null,
});

/** Return null where all values are shown. names: of the series or formulas, in order */
function valuesNote(counts: readonly ValueCount[], names: readonly string[]): string | null {
  if (counts.every(({ shown, total }) => shown === total)) return null;
  const texts = counts.map(({ shown, total }) => words.values(shown, total));
  if (new Set(texts).size === 1) return words.valuesShown(texts[0] ?? "");
  return words.valuesShown(
    texts.map((text, place) => words.valuesOf(names[place] ?? "", text)).join(", "),
  );
}
