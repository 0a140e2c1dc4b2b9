import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Users } from "lucide-react";
import { useMemo } from "react";
import { useProject, useProjectId } from "@/app/session";
import { everyRow } from "@/lib/paging";
import { prefix } from "@/lib/prefix";
import { Button, LinkButton } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { Page } from "@/ui/Page";
import { Empty, Failed, Skeleton } from "@/ui/States";
import { DataTable, orderOf, readSort, writeSort } from "@/ui/table";
import { words } from "@/words/persons";
import { HIDDEN_AT_FIRST, ordersOf, sortableColumnsOf } from "./columns";
import { PersonsToolbar } from "./PersonsToolbar";
import {
  type Person,
  type PersonsQuestion,
  personsCountQuery,
  personsQuery,
  readPersons,
} from "./queries";
import type { PersonsSearch } from "./search";

const route = getRouteApi("/signed-in/project/$projectId/persons");
const CSV_PAGE = 1_000;

export default function PersonsPage() {
  const projectId = useProjectId();
  const search = route.useSearch();
  const change = useSearchChange();
  const { sort: sortText, ...asked } = search;
  const sort = readSort(sortText ?? "");
  const question = { ...asked, order: orderOf(sort, ordersOf(sort?.column)) };
  const persons = useInfiniteQuery(personsQuery(projectId, question));
  const counted = useQuery(personsCountQuery(projectId, question)).data;
  const rows = useMemo(
    () => persons.data?.pages.flatMap((page) => page.results) ?? [],
    [persons.data],
  );
  const columns = useMemo(() => sortableColumnsOf(rows, sort?.column), [rows, sort?.column]);
  const hidden = useMemo(
    () => [...HIDDEN_AT_FIRST, ...columns.slice(5).map((column) => column.id)],
    [columns],
  );
  const isAsked = search.q !== undefined || search.filters !== undefined;
  if (persons.isSuccess && rows.length === 0 && !isAsked) {
    return (
      <Page title={words.title} description={words.description}>
        <NoPersons />
      </Page>
    );
  }
  return (
    <Page title={words.title} description={words.description}>
      {persons.isError && <Failed error={persons.error} onRetry={() => void persons.refetch()} />}
      {persons.isPending && <Skeleton rows={8} />}
      {/* A table that is drawn hidden knows no height, and begins with a gap. */}
      {!persons.isPending && (
        <div aria-busy={persons.isPlaceholderData || undefined}>
          <DataTable<Person>
            name="persons"
            label={words.title}
            columns={columns}
            initiallyHidden={hidden}
            rows={rows}
            rowId={(person) => person.id}
            rowLabel={(person) => person.name}
            hrefOf={(person) => `/project/${projectId}/persons/${person.id}`}
            sort={sort}
            onSort={(next) => {
              const written = writeSort(next);
              change(written ? { ...asked, sort: written } : asked);
            }}
            isSortedByServer
            {...(counted !== undefined && {
              total: counted.count,
              isTotalMore: !counted.is_exact,
            })}
            more={{
              hasMore: persons.hasNextPage,
              isLoading: persons.isFetchingNextPage,
              load: () => void persons.fetchNextPage(),
            }}
            csv={{
              fileName: words.csvName,
              all: (signal) => everyPerson(projectId, question, signal),
            }}
            toolbar={<PersonsToolbar search={search} onChange={change} />}
            empty={<NoMatch onClear={() => change({})} />}
          />
        </div>
      )}
    </Page>
  );
}

function everyPerson(projectId: string, question: PersonsQuestion, signal: AbortSignal) {
  return everyRow((next) => readPersons(projectId, question, next, CSV_PAGE, signal));
}

/** The address says what is searched for; typing leaves one entry in the history. */
function useSearchChange(): (next: PersonsSearch) => void {
  const navigate = route.useNavigate();
  return (next) => void navigate({ search: next, replace: true });
}

/** The list of a project in which no event has arrived. */
function NoPersons() {
  const projectId = useProjectId();
  const token = useProject()?.api_token ?? "…";
  const host = JSON.stringify(location.origin + prefix);
  const snippet = `posthog.init(${JSON.stringify(token)}, { api_host: ${host} });
posthog.identify("user-17", { email: "ann@example.com", plan: "pro" });`;
  return (
    <Empty icon={Users} title={words.emptyTitle}>
      <p>{words.emptyHint}</p>
      <div className="w-full max-w-xl min-w-0">
        <Code text={snippet} what={words.snippet} />
      </div>
      <LinkButton look="primary" to="/project/$projectId" params={{ projectId }}>
        {words.toHome}
      </LinkButton>
    </Empty>
  );
}

function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <Empty title={words.noMatchTitle}>
      <p>{words.noMatchHint}</p>
      <Button onClick={onClear}>{words.clearSearch}</Button>
    </Empty>
  );
}
