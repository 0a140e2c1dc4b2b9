import type { ReactNode } from "react";
import { Failed, Skeleton } from "@/ui/States";
import { words } from "@/words/web";
import type { Breakdown } from "./breakdowns";
import type { Row } from "./queries";

const PLACES: readonly Breakdown[] = ["Country", "Region", "City"];

interface Props {
  query: { data: unknown; error: unknown; isLoading: boolean; refetch: () => unknown };
  rows: readonly Row[];
  by?: Breakdown;
  isFiltered: boolean;
  children: ReactNode;
}

/** A table, or its loading, error or empty state. */
export function TableState({ query, rows, by, isFiltered, children }: Props) {
  if (query.isLoading) return <Skeleton rows={6} />;
  // Not in view yet, so not fetched.
  if (query.data === undefined && query.error === null) return null;
  const failure = query.error !== null && (
    <div className="mb-2">
      <Failed error={query.error} onRetry={() => void query.refetch()} />
    </div>
  );
  if (query.data === undefined) return failure;
  const isWithoutPlaces =
    by !== undefined && PLACES.includes(by) && rows.every(({ value }) => value === null);
  return (
    <>
      {failure}
      {rows.length === 0 ? (
        <p className="py-6 text-center text-ink-2">
          {isFiltered ? words.emptyFiltered : words.empty}
        </p>
      ) : (
        children
      )}
      {rows.length > 0 && isWithoutPlaces && !isFiltered && (
        <p className="pt-2 text-ink-2 text-sm">{words.noPlaces}</p>
      )}
    </>
  );
}
