import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { SearchInput } from "@/ui/Field";
import { Failed, Skeleton } from "@/ui/States";
import { DataTable, readSort, writeSort } from "@/ui/table";
import { words } from "@/words/web";
import { everyValue, pageOf, valueColumns } from "./allRows";
import { type Breakdown, SOURCES } from "./breakdowns";
import { withCondition } from "./conditions";
import { wholeName } from "./names";
import { ask, rowsOf } from "./queries";
import { conditionOf, type View } from "./view";

const PAGE = 100;

export interface AllRowsProps {
  by: Breakdown;
  view: View;
}

/** All rows of a table, to search, sort, download, and pick filters from. */
export default function AllRows({ by, view }: AllRowsProps) {
  const projectId = useProjectId();
  const [text, setText] = useState("");
  const [typed, setTyped] = useTyped(text, setText);
  const [order, setOrder] = useState("-visitors");
  const question = useMemo(() => pageOf(view, by, text.trim(), order), [view, by, text, order]);
  const table = useInfiniteQuery({
    queryKey: ["web rows", projectId, question(0, PAGE)],
    queryFn: ({ pageParam, signal }) => ask(projectId, question(pageParam, PAGE), "recent", signal),
    initialPageParam: 0,
    getNextPageParam: (page, pages) => (page.hasMore ? pages.length * PAGE : undefined),
    placeholderData: keepPreviousData,
  });
  const rows = useMemo(() => table.data?.pages.flatMap(rowsOf) ?? [], [table.data]);
  const columns = useMemo(() => valueColumns(by, view), [by, view]);
  const choose = (value: (typeof rows)[number]["value"]) => {
    const condition = conditionOf(view, by, value);
    if (typeof condition === "string") return;
    view.change({ all: undefined, where: withCondition(view.where, condition) });
  };
  return (
    <div className="flex min-w-0 flex-col gap-3" aria-busy={table.isFetching}>
      {table.isError && <Failed error={table.error} onRetry={() => void table.refetch()} />}
      {table.isPending ? (
        <Skeleton rows={8} />
      ) : (
        <DataTable
          name="web"
          label={words.titles[by]}
          columns={columns}
          rows={rows}
          rowId={({ value }) => JSON.stringify(value)}
          rowLabel={({ value }) => wholeName(by, value)}
          onOpen={({ value }) => choose(value)}
          maxHeight="calc(100dvh - 13rem)"
          sort={readSort(order)}
          onSort={(sort) => setOrder(writeSort(sort) || "-visitors")}
          isSortedByServer
          more={{
            hasMore: table.hasNextPage,
            isLoading: table.isFetchingNextPage,
            load: () => void table.fetchNextPage(),
          }}
          csv={{
            fileName: words.csvOf(words.titles[by]),
            all: (signal) => everyValue(projectId, view, by, order, signal, text.trim()),
          }}
          toolbar={
            SOURCES[by].searched !== undefined && (
              <SearchInput
                label={words.search(words.titles[by])}
                value={typed}
                onChange={setTyped}
              />
            )
          }
          empty={text === "" ? words.empty : words.noMatch}
        />
      )}
    </div>
  );
}
