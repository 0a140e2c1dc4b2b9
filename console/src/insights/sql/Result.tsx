import { RowsView } from "@/insights/kinds/sql/RowsView";
import type { Shown } from "@/insights/kinds/sql/shown";
import { formatNumber } from "@/words/format";
import { words } from "@/words/sql";
import type { SqlAnswer } from "./answer";
import { ShownFields } from "./ShownFields";

interface Props {
  answer: SqlAnswer | null;
  shown: Shown;
  onShown: (shown: Shown) => void;
  isRunning: boolean;
  /** Whether the query has changed since it was asked. */
  isChanged: boolean;
}

/** The result of a query. The one before stays until the next is there. */
export function Result({ answer, shown, onShown, isRunning, isChanged }: Props) {
  return (
    <section
      aria-label={words.result}
      aria-busy={isRunning}
      className="flex min-h-40 min-w-0 flex-col gap-3"
    >
      {answer === null ? (
        <p className="text-ink-2">
          {words.notRun} {words.limits}
        </p>
      ) : (
        <>
          <p className="text-ink-2">
            {notesOf(answer).join(" ")} {isChanged && words.changed}
          </p>
          <ShownFields rows={answer} shown={shown} onChange={onShown} />
          <RowsView rows={answer} shown={shown} />
        </>
      )}
    </section>
  );
}

const ROWS_MAX = 10_000;
// Less is not shown, as seconds have two decimals.
const SHORTEST = 0.01;

/** What there is to say about an answer: how much it shows, what it has cost, and its age. */
function notesOf(answer: SqlAnswer): readonly string[] {
  const { results, hasMore, limit, seconds, rows_read: read = null } = answer;
  const shown = hasMore
    ? words.firstRows(results.length, limit < ROWS_MAX)
    : words.rows(results.length);
  const took = typeof seconds === "number" ? formatNumber(Math.max(seconds, SHORTEST)) : null;
  return [
    shown,
    ...(took === null ? [] : [words.read(read, took)]),
    ...(answer.is_cached ? [words.cached] : []),
  ];
}
