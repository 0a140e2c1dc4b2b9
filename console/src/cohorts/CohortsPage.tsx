import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus, Trash2, UsersRound } from "lucide-react";
import { useMemo } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { everyRow } from "@/lib/paging";
import { LinkButton } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { LINK, Page } from "@/ui/Page";
import { Select } from "@/ui/Select";
import { Empty, Failed, Skeleton } from "@/ui/States";
import { DataTable } from "@/ui/table";
import { words } from "@/words/cohorts";
import { columnsOf } from "./columns";
import { type Cohort, cohortsQuery, readCohorts, usersOfCohortsQuery } from "./queries";
import { COHORT_KINDS, type CohortsSearch } from "./search";
import { cohortsIn } from "./usage";

const route = getRouteApi("/signed-in/project/$projectId/cohorts");
const CSV_PAGE = 500;

export default function CohortsPage() {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const cohorts = useInfiniteQuery(cohortsQuery(projectId, search));
  const rows = useMemo(
    () => cohorts.data?.pages.flatMap((page) => page.results) ?? [],
    [cohorts.data],
  );
  const flagCounts = useFlagCounts(projectId);
  const columns = useMemo(() => columnsOf(flagCounts), [flagCounts]);
  const total = cohorts.data?.pages[0]?.count;
  const isAsked = search.q !== undefined || search.kind !== undefined;
  const isEmpty = rows.length === 0 && !isAsked && !search.deleted;
  const change = (next: CohortsSearch) => void navigate({ search: next, replace: true });
  return (
    <Page
      {...(search.deleted
        ? { title: words.deletedTitle, description: words.deletedHint, back: <Back /> }
        : {
            title: words.title,
            description: words.description,
            actions: <ListActions projectId={projectId} />,
          })}
    >
      {cohorts.isError && <Failed error={cohorts.error} onRetry={() => void cohorts.refetch()} />}
      {cohorts.isPending && <Skeleton rows={6} />}
      {cohorts.isSuccess && isEmpty && <NoCohorts />}
      {cohorts.isSuccess && !isEmpty && (
        <DataTable<Cohort>
          name="cohorts"
          label={words.title}
          columns={columns}
          initiallyHidden={["created"]}
          rows={rows}
          rowId={({ id }) => String(id)}
          rowLabel={({ name }) => name || words.untitled}
          hrefOf={({ id }) => `/project/${projectId}/cohorts/${id}`}
          {...(total !== undefined && { total })}
          more={{
            hasMore: cohorts.hasNextPage,
            isLoading: cohorts.isFetchingNextPage,
            load: () => void cohorts.fetchNextPage(),
          }}
          csv={{
            fileName: words.csvName,
            all: (signal) =>
              everyRow((next) => readCohorts(projectId, search, next, CSV_PAGE, signal)),
          }}
          toolbar={<Toolbar search={search} onChange={change} />}
          empty={search.deleted && !isAsked ? words.noDeleted : words.noMatch}
        />
      )}
    </Page>
  );
}

/** Return how many flags have a condition on each cohort. */
function useFlagCounts(projectId: string): ReadonlyMap<string, number> | undefined {
  const users = useQuery(usersOfCohortsQuery(projectId)).data;
  return useMemo(() => {
    if (users === undefined) return undefined;
    const counts = new Map<string, number>();
    for (const flag of users.flags) {
      for (const id of cohortsIn(flag.filters)) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }, [users]);
}

interface ToolbarProps {
  search: CohortsSearch;
  onChange: (search: CohortsSearch) => void;
}

function Toolbar({ search, onChange }: ToolbarProps) {
  const { q: _q, kind, ...others } = search;
  const [text, setText] = useTyped(search.q ?? "", (q) =>
    onChange({ ...others, ...(kind && { kind }), ...(q && { q }) }),
  );
  return (
    <>
      <SearchInput label={words.search} value={text} onChange={setText} />
      <Select
        aria-label={words.kindFilter}
        className="w-auto!"
        value={kind ?? "all"}
        options={[
          { value: "all" as const, label: words.kinds.all },
          ...COHORT_KINDS.map((value) => ({ value, label: words.kinds[value] })),
        ]}
        onChange={(chosen) =>
          onChange({
            ...others,
            ...(search.q && { q: search.q }),
            ...(chosen !== "all" && { kind: chosen }),
          })
        }
      />
    </>
  );
}

function Back() {
  return (
    <Link to="/project/$projectId/cohorts" params={{ projectId: useProjectId() }} className={LINK}>
      {words.title}
    </Link>
  );
}

function ListActions({ projectId }: { projectId: string }) {
  return (
    <>
      <LinkButton
        look="quiet"
        icon={Trash2}
        to="/project/$projectId/cohorts"
        params={{ projectId }}
        search={{ deleted: true }}
      >
        {words.deletedTitle}
      </LinkButton>
      <NewCohort projectId={projectId} />
    </>
  );
}

function NewCohort({ projectId }: { projectId: string }) {
  const canEdit = useCanEdit();
  return (
    <LinkButton
      look="primary"
      icon={Plus}
      to="/project/$projectId/cohorts/new"
      params={{ projectId }}
      disabled={!canEdit}
      title={canEdit ? undefined : words.viewerHint}
    >
      {words.create}
    </LinkButton>
  );
}

function NoCohorts() {
  return (
    <Empty icon={UsersRound} title={words.emptyTitle}>
      <p>{words.emptyHint}</p>
      <NewCohort projectId={useProjectId()} />
    </Empty>
  );
}
