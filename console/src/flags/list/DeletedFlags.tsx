import { infiniteQueryOptions, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { useCanEdit } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import { queryOf } from "@/lib/paging";
import { Visible } from "@/ui/properties";
import { RestoreButton } from "@/ui/RestoreButton";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/flagList";
import { words as common } from "@/words/ui";
import { setDeleted } from "../changes";
import type { FlagBody } from "../model";
import { flagKeys } from "../queries";

const WORDS = words.deleted;
const PAGE = 100;

const COLUMNS: readonly Column<FlagBody>[] = [
  {
    id: "key",
    header: words.columns.key,
    grow: true,
    fixed: true,
    cell: ({ key }) => <Visible text={key} />,
    text: ({ key }) => key,
  },
  {
    id: "name",
    header: WORDS.description,
    grow: true,
    cell: ({ name }) => <Visible text={name} />,
    text: ({ name }) => name,
  },
  {
    id: "created",
    header: words.columns.created,
    width: 130,
    cell: ({ created_at: at }) => <Time at={at} />,
    text: ({ created_at: at }) => new Date(at),
  },
];

/** The deleted flags, each of which can be restored until another flag takes its key. */
export function DeletedFlags({ projectId }: { projectId: string }) {
  const deleted = useInfiniteQuery(deletedFlagsQuery(projectId));
  const rows = useMemo(
    () => deleted.data?.pages.flatMap((page) => page.results) ?? [],
    [deleted.data],
  );
  const columns = useMemo(() => [...COLUMNS, restoreColumn(projectId)], [projectId]);
  const total = deleted.data?.pages[0]?.count;
  return (
    <Loaded query={deleted} rows={4}>
      {() => (
        <DataTable<FlagBody>
          name="deleted-flags"
          label={WORDS.title}
          columns={columns}
          rows={rows}
          rowId={({ id }) => String(id)}
          rowLabel={({ key }) => key}
          hrefOf={({ id }) => `/project/${projectId}/flags/${id}`}
          {...(total !== undefined && { total })}
          more={{
            hasMore: deleted.hasNextPage,
            isLoading: deleted.isFetchingNextPage,
            load: () => void deleted.fetchNextPage(),
          }}
          empty={WORDS.none}
        />
      )}
    </Loaded>
  );
}

const deletedFlagsQuery = (projectId: string) =>
  infiniteQueryOptions({
    queryKey: [...flagKeys.all(projectId), "deleted"],
    queryFn: ({ pageParam, signal }) => {
      const { offset } = pageParam === null ? {} : queryOf(pageParam);
      const query = {
        deleted: true,
        limit: PAGE,
        ...(offset !== undefined && { offset: Number(offset) }),
      };
      return dataOf(
        api.GET("/api/projects/{project_id}/feature_flags/", {
          params: { path: { project_id: projectId }, query },
          signal,
        }),
      );
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

function restoreColumn(projectId: string): Column<FlagBody> {
  return {
    id: "restore",
    header: common.restore,
    width: 120,
    cell: (flag) => <Restore projectId={projectId} flag={flag} />,
    text: () => "",
  };
}

function Restore({ projectId, flag }: { projectId: string; flag: FlagBody }) {
  const canEdit = useCanEdit() && flag.can_edit;
  const queries = useQueryClient();
  const restore = async () => {
    try {
      await setDeleted(projectId, flag.id, false);
    } catch (error) {
      const isGone = error instanceof ApiError && error.status === 404;
      throw isGone ? new Error(WORDS.gone(flag.key)) : error;
    } finally {
      void queries.invalidateQueries({ queryKey: flagKeys.all(projectId) });
    }
  };
  return (
    <RestoreButton
      name={flag.key}
      canRestore={canEdit}
      hint={words.noRight}
      restore={restore}
      restored={WORDS.restored(flag.key, flag.active)}
    />
  );
}
