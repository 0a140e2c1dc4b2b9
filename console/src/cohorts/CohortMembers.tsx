import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { UserMinus } from "lucide-react";
import { useMemo } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { useTyped } from "@/lib/hooks";
import { everyRow } from "@/lib/paging";
import { type Person, PersonPicker, personColumns } from "@/persons";
import { IconButton } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { Card } from "@/ui/Page";
import { Failed, Skeleton } from "@/ui/States";
import { toast, toastError } from "@/ui/Toast";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/cohorts";
import { LastImport } from "./LastImport";
import { type Cohort, calculationsQuery, membersQuery, readMembers } from "./queries";
import { Upload } from "./Upload";
import { useCohortsRefresh } from "./useCohortChange";

const route = getRouteApi("/signed-in/project/$projectId/cohorts/$cohortId");
const WORDS = words.members;
const CSV_PAGE = 1_000;

export function CohortMembers({ cohort }: { cohort: Cohort }) {
  const canEdit = useCanEdit();
  const projectId = useProjectId();
  const history = useQuery({
    ...calculationsQuery(projectId, cohort.id, cohort.last_calculation),
    enabled: cohort.is_static,
  });
  const isEditable = cohort.is_static && !cohort.deleted && canEdit;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {isEditable && <Additions cohort={cohort} />}
      {cohort.is_static && <LastImport cohort={cohort} />}
      {/* Waits for the content above it, to avoid a layout shift. */}
      <div className={cohort.is_static && history.isPending ? "hidden" : "contents"}>
        <Members cohort={cohort} isEditable={isEditable} />
      </div>
    </div>
  );
}

function Additions({ cohort }: { cohort: Cohort }) {
  const { change } = useMembership(cohort);
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card title={WORDS.add}>
        <PersonPicker
          projectId={useProjectId()}
          label={WORDS.add}
          hideLabel
          placeholder={WORDS.addPlaceholder}
          without={[]}
          disabled={cohort.is_calculating}
          onPick={(id) => change.mutate({ add: id })}
        />
      </Card>
      <Upload cohort={cohort} />
    </div>
  );
}

function Members({ cohort, isEditable }: { cohort: Cohort; isEditable: boolean }) {
  const projectId = useProjectId();
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const cohortId = cohort.id;
  const [text, setText] = useTyped(
    q ?? "",
    (next) => void navigate({ search: next ? { q: next } : {}, replace: true }),
  );
  const members = useInfiniteQuery(membersQuery(projectId, cohortId, q, cohort.last_calculation));
  const rows = useMemo(
    () => members.data?.pages.flatMap((page) => page.results) ?? [],
    [members.data],
  );
  const { change } = useMembership(cohort);
  const remove = isEditable ? change.mutate : undefined;
  const columns = useMemo(
    () => [...personColumns(rows), ...(remove ? [removeColumn(remove)] : [])],
    [rows, remove],
  );
  const hidden = useMemo(() => columns.slice(5).map(({ id }) => id), [columns]);
  if (members.isPending) return <Skeleton rows={5} />;
  if (members.isError) {
    return <Failed error={members.error} onRetry={() => void members.refetch()} />;
  }
  return (
    <DataTable<Person>
      name="cohort-members"
      label={WORDS.label}
      columns={columns}
      initiallyHidden={["email", ...hidden.filter((id) => id !== "remove")]}
      rows={rows}
      rowId={({ id }) => id}
      hrefOf={({ id }) => `/project/${projectId}/persons/${id}`}
      {...(q === undefined && cohort.count !== null && { total: cohort.count })}
      more={{
        hasMore: members.hasNextPage,
        isLoading: members.isFetchingNextPage,
        load: () => void members.fetchNextPage(),
      }}
      csv={{
        fileName: WORDS.csvName(cohort.name ?? ""),
        all: (signal) =>
          everyRow((next) => readMembers(projectId, cohortId, q, next, CSV_PAGE, signal)),
      }}
      toolbar={
        <>
          <SearchInput
            label={WORDS.search}
            placeholder={WORDS.placeholder}
            value={text}
            onChange={setText}
            className="w-72 max-w-full"
          />
          {!cohort.is_static && <span className="text-ink-3 text-sm">{WORDS.asOf}</span>}
        </>
      }
      empty={q === undefined ? emptyText(cohort) : WORDS.noMatch}
    />
  );
}

const emptyText = (cohort: Cohort): string =>
  cohort.is_calculating && cohort.count === null ? WORDS.calculating : WORDS.empty;

type Change = { add: string } | { remove: Person };

function removeColumn(change: (what: Change) => void): Column<Person> {
  return {
    id: "remove",
    header: WORDS.actions,
    width: 90,
    cell: (person) => (
      <IconButton
        icon={UserMinus}
        label={WORDS.remove}
        className="size-7"
        onClick={() => change({ remove: person })}
      />
    ),
    text: () => null,
  };
}

/** Persons of a static cohort, one by one; in effect at once. */
function useMembership(cohort: Cohort) {
  const projectId = useProjectId();
  const refresh = useCohortsRefresh();
  const params = { path: { project_id: projectId, id: cohort.id } };
  const add = (id: string) =>
    dataOf(
      api.PATCH("/api/projects/{project_id}/cohorts/{id}/add_persons_to_static_cohort/", {
        params,
        body: { person_ids: [id] },
      }),
    );
  const remove = (id: string) =>
    dataOf(
      api.PATCH("/api/projects/{project_id}/cohorts/{id}/remove_person_from_static_cohort/", {
        params,
        body: { person_id: id },
      }),
    );
  const change = useMutation({
    mutationFn: (what: Change) => ("add" in what ? add(what.add) : remove(what.remove.id)),
    onSuccess: async (_, what) => {
      const [text, undo] =
        "add" in what
          ? [WORDS.added, () => remove(what.add)]
          : [WORDS.removed(what.remove.name), () => add(what.remove.id)];
      toast({ text, undo: () => undo().then(refresh) });
      await refresh();
    },
    onError: toastError,
  });
  return { change };
}
