import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Archive, FlaskConical, Plus } from "lucide-react";
import { useMemo } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { everyRow } from "@/lib/paging";
import { withValue } from "@/lib/searchParams";
import { LinkButton } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { ANY, FilterSelect } from "@/ui/ListFilters";
import { LINK, Page } from "@/ui/Page";
import { Empty, Failed, Skeleton } from "@/ui/States";
import { DataTable } from "@/ui/table";
import { words } from "@/words/experiments";
import { COLUMNS } from "./columns";
import { experimentsQuery, type ListedExperiment, readExperiments } from "./queries";
import { EXPERIMENT_STATES, type ExperimentsSearch } from "./search";

const route = getRouteApi("/signed-in/project/$projectId/experiments");
const CSV_PAGE = 500;

export default function ExperimentsPage() {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const experiments = useInfiniteQuery(experimentsQuery(projectId, search));
  const rows = useMemo(
    () => experiments.data?.pages.flatMap((page) => page.results) ?? [],
    [experiments.data],
  );
  const total = experiments.data?.pages[0]?.count;
  const isAsked = search.q !== undefined || search.state !== undefined;
  const isEmpty = rows.length === 0 && !isAsked && !search.archived;
  const change = (next: ExperimentsSearch) => void navigate({ search: next, replace: true });
  return (
    <Page
      {...(search.archived
        ? { title: words.archivedTitle, description: words.archivedHint, back: <Back /> }
        : {
            title: words.title,
            description: words.description,
            actions: <ListActions projectId={projectId} />,
          })}
    >
      {experiments.isError && (
        <Failed error={experiments.error} onRetry={() => void experiments.refetch()} />
      )}
      {experiments.isPending && <Skeleton rows={6} />}
      {experiments.isSuccess && isEmpty && <NoExperiments projectId={projectId} />}
      {experiments.isSuccess && !isEmpty && (
        <DataTable<ListedExperiment>
          name="experiments"
          label={words.title}
          columns={COLUMNS}
          initiallyHidden={["created"]}
          rows={rows}
          rowId={({ id }) => String(id)}
          rowLabel={({ name }) => name}
          hrefOf={({ id }) => `/project/${projectId}/experiments/${id}`}
          {...(total !== undefined && { total })}
          more={{
            hasMore: experiments.hasNextPage,
            isLoading: experiments.isFetchingNextPage,
            load: () => void experiments.fetchNextPage(),
          }}
          csv={{
            fileName: words.csvName,
            all: (signal) =>
              everyRow((next) => readExperiments(projectId, search, next, CSV_PAGE, signal)),
          }}
          toolbar={<Toolbar search={search} onChange={change} />}
          empty={search.archived && !isAsked ? words.noArchived : words.noMatch}
        />
      )}
    </Page>
  );
}

interface ToolbarProps {
  search: ExperimentsSearch;
  onChange: (search: ExperimentsSearch) => void;
}

function Toolbar({ search, onChange }: ToolbarProps) {
  const [text, setText] = useTyped(search.q ?? "", (q) =>
    onChange(withValue(search, "q", q || undefined)),
  );
  return (
    <>
      <SearchInput label={words.search} value={text} onChange={setText} />
      <FilterSelect
        label={words.stateFilter}
        value={search.state ?? ANY}
        options={[
          { value: ANY, label: words.anyState },
          ...EXPERIMENT_STATES.map((value) => ({ value, label: words.states[value] })),
        ]}
        onChange={(chosen) =>
          onChange(
            withValue(
              search,
              "state",
              EXPERIMENT_STATES.find((state) => state === chosen),
            ),
          )
        }
      />
    </>
  );
}

function Back() {
  return (
    <Link
      to="/project/$projectId/experiments"
      params={{ projectId: useProjectId() }}
      className={LINK}
    >
      {words.title}
    </Link>
  );
}

function ListActions({ projectId }: { projectId: string }) {
  return (
    <>
      <LinkButton
        look="quiet"
        icon={Archive}
        to="/project/$projectId/experiments"
        params={{ projectId }}
        search={{ archived: true }}
      >
        {words.archivedTitle}
      </LinkButton>
      <NewButton projectId={projectId} />
    </>
  );
}

function NewButton({ projectId }: { projectId: string }) {
  const canEdit = useCanEdit();
  return (
    <LinkButton
      look="primary"
      icon={Plus}
      to="/project/$projectId/experiments/new"
      params={{ projectId }}
      disabled={!canEdit}
      title={canEdit ? undefined : words.viewerHint}
    >
      {words.create}
    </LinkButton>
  );
}

function NoExperiments({ projectId }: { projectId: string }) {
  return (
    <Empty icon={FlaskConical} title={words.emptyTitle}>
      <p>{words.emptyHint}</p>
      <NewButton projectId={projectId} />
    </Empty>
  );
}
