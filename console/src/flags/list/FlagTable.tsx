import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue, useMemo, useState } from "react";
import { useCanEdit } from "@/app/session";
import { isText, useStored } from "@/lib/storage";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { type Column, DataTable, readSort, type Sort, writeSort } from "@/ui/table";
import { compareKeys, sortKey } from "@/ui/table/columns";
import { words } from "@/words/flagList";
import { type FlagList, flagListQuery, overviewQuery } from "../listQueries";
import type { FlagBody } from "../model";
import { useNames } from "../names";
import type { Names } from "../sentence";
import { BulkBar } from "./BulkBar";
import { flagColumns } from "./columns";
import { Filters, tagsOf } from "./Filters";
import { type FlagListRow, matches } from "./rows";
import { type FlagListSearch, isFiltered } from "./search";

interface Props {
  projectId: string;
  list: FlagList;
  /** Further pages are under way. */
  isLoading: boolean;
}

const HIDDEN = ["created"];
const rowId = ({ flag }: FlagListRow) => String(flag.id);
const rowLabel = ({ flag }: FlagListRow) => flag.key;

export function FlagTable({ projectId, list, isLoading }: Props) {
  const search = useSearch({ from: "/signed-in/project/$projectId/flags" });
  const change = useChangeSearch();
  const [storedSort, storeSort] = useStored("flags.sort", "", isText);
  const sortText = search.sort ?? storedSort;
  const sort = readSort(sortText);
  const canEdit = useCanEdit();
  const overview = useQuery(overviewQuery(projectId));
  const names = useFlagNames(projectId, list.flags);
  const columns = useMemo(() => flagColumns({ projectId, names }), [projectId, names]);
  const shownSearch = useDeferredValue(search);
  const rowsOf = (flags: readonly FlagBody[], by: FlagListSearch) => {
    const rows = flags.map((flag) => ({ flag, overview: overview.data?.get(flag.id) }));
    return sorted(
      rows.filter((row) => matches(row, by)),
      columns,
      readSort(sortText),
    );
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: `rowsOf` follows from what is named.
  const rows = useMemo(
    () => rowsOf(list.flags, shownSearch),
    [list.flags, overview.data, shownSearch, columns, sortText],
  );
  const { selection, selected, clear } = useSelection(list.flags);
  const queries = useQueryClient();
  const csv = {
    fileName: "feature-flags.csv",
    all: async () => rowsOf((await queries.fetchQuery(flagListQuery(projectId))).flags, search),
  };
  const isPartial = isLoading && (isFiltered(search) || sort !== null);
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <Filters search={search} flags={list.flags} onChange={change} />
      </div>
      {overview.error && <Notice tone="warn">{words.overviewFailed}</Notice>}
      {isPartial && <Notice>{words.loadedSoFar(list.flags.length, list.total)}</Notice>}
      <DataTable
        name="flags"
        label={words.table}
        columns={columns}
        rows={rows}
        rowId={rowId}
        rowLabel={rowLabel}
        hrefOf={({ flag }) => `/project/${projectId}/flags/${flag.id}`}
        sort={sort}
        onSort={(next) => {
          storeSort(writeSort(next));
          const { sort: _, ...others } = search;
          change(next === null ? others : { ...others, sort: writeSort(next) });
        }}
        isSortedByServer
        {...(canEdit && { selection })}
        {...(!isFiltered(search) && { total: list.total })}
        csv={csv}
        initiallyHidden={HIDDEN}
        empty={<NoMatch onClear={() => change({})} />}
        toolbar={
          selected.length > 0 && (
            <BulkBar
              projectId={projectId}
              flags={selected}
              knownTags={tagsOf(list.flags)}
              onClear={clear}
            />
          )
        }
      />
    </div>
  );
}

function useChangeSearch(): (search: FlagListSearch) => void {
  const navigate = useNavigate();
  return (search) => void navigate({ to: ".", search, replace: true });
}

/** Flags that are gone are not selected any more. */
function useSelection(flags: readonly FlagBody[]) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const selected = flags.filter((flag) => ids.has(String(flag.id)));
  const known = new Set(selected.map((flag) => String(flag.id)));
  return {
    selected,
    selection: { selected: known, onChange: setIds },
    clear: () => setIds(new Set()),
  };
}

/** The names in sentences: cohorts, group types and other flags. */
function useFlagNames(projectId: string, flags: readonly FlagBody[]): Names {
  const names = useNames(projectId);
  return useMemo(
    () => ({ ...names, flags: new Map(flags.map((flag) => [String(flag.id), flag.key])) }),
    [names, flags],
  );
}

function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <span className="inline-flex items-center gap-3">
      {words.noMatch}
      <Button small onClick={onClear}>
        {words.clear}
      </Button>
    </span>
  );
}

/** Sorts rows as the table shows them, also for the export. Missing values come last. */
function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | null,
): readonly Row[] {
  const column = columns.find((one) => one.id === sort?.column);
  if (column === undefined || sort === null) return rows;
  const keyed = rows.map((row) => ({ row, key: sortKey(column.text(row)) }));
  const direction = sort.descending ? -1 : 1;
  keyed.sort((one, other) => {
    if (one.key === undefined || other.key === undefined) {
      return Number(one.key === undefined) - Number(other.key === undefined);
    }
    return direction * compareKeys(one.key, other.key);
  });
  return keyed.map(({ row }) => row);
}
