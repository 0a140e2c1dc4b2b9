import { useMemo, useState } from "react";
import { AS_TABLE, type Shown } from "@/insights/kinds/sql/shown";
import type { Given } from "@/lib/searchParams";
import type { SqlQuery } from "./answer";
import { queryOf, type Values } from "./variables";

/** A query on the screen, with how its result is shown. */
export interface Draft {
  text: string;
  values: Values;
  shown: Shown;
}

export const draftOf = (text: string, values: Values = {}, shown: Shown = AS_TABLE): Draft => ({
  text,
  values,
  shown,
});

/** The state of an editor. others: further parts of the query, such as `filters` */
export function useWork(first: Draft, others?: Given) {
  const [draft, setDraft] = useState(first);
  const query = useMemo(
    (): SqlQuery => ({ ...others, ...queryOf(draft.text, draft.values) }),
    [others, draft.text, draft.values],
  );
  return { draft, setDraft, query };
}

export type Work = ReturnType<typeof useWork>;
