import { useInfiniteQuery } from "@tanstack/react-query";
import { Users } from "lucide-react";
import { useMemo, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { everyRow } from "@/lib/paging";
import { type Person, personColumns } from "@/persons";
import { Button } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { Failed, Skeleton } from "@/ui/States";
import { type Column, DataTable } from "@/ui/table";
import { formatNumber } from "@/words/format";
import { words } from "@/words/insights";
import { type Actor, type ActorsQuestion, actorsQuery, readActors } from "./actors";
import { SaveAsCohort } from "./SaveAsCohort";

export interface ActorsTableProps {
  question: ActorsQuestion;
  /** The suggested name of a cohort of these persons. */
  name: string;
}

const CSV_PAGE = 1_000;
/** A person with what they contribute to the number. */
type Row = Person & Pick<Actor, "value_at_data_point">;

export default function ActorsTable({ question, name }: ActorsTableProps) {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  const [search, setSearch] = useState("");
  const [typed, setTyped] = useTyped(search, setSearch);
  const [isSaving, setSaving] = useState(false);
  const actors = useInfiniteQuery(actorsQuery(projectId, question, search.trim()));
  const rows = useMemo(
    () => actors.data?.pages.flatMap((page) => page.results.map(rowOf)) ?? [],
    [actors.data],
  );
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const hidden = useMemo(
    () => ["email", ...columns.slice(SHOWN).map((column) => column.id)],
    [columns],
  );
  const missing = actors.data?.pages.reduce((sum, page) => sum + page.missing, 0) ?? 0;
  return (
    <div className="flex min-w-0 flex-col gap-3" aria-busy={actors.isFetching}>
      {actors.isError && <Failed error={actors.error} onRetry={() => void actors.refetch()} />}
      {actors.isPending ? (
        <Skeleton rows={8} />
      ) : (
        <DataTable<Row>
          name="actors"
          label={words.found}
          columns={columns}
          initiallyHidden={hidden}
          rows={rows}
          rowId={(row) => row.id}
          hrefOf={(row) => `/project/${projectId}/persons/${row.id}`}
          maxHeight="calc(100dvh - 15rem)"
          more={{
            hasMore: actors.hasNextPage,
            isLoading: actors.isFetchingNextPage,
            load: () => void actors.fetchNextPage(),
          }}
          csv={{
            fileName: words.csvName,
            all: (signal) => everyPerson(projectId, question, signal),
          }}
          toolbar={
            <>
              <SearchInput label={words.search} value={typed} onChange={setTyped} />
              {canEdit && (
                <Button icon={Users} onClick={() => setSaving(true)}>
                  {words.save}
                </Button>
              )}
            </>
          }
          empty={search === "" ? words.none : words.noMatch}
        />
      )}
      {missing > 0 && <p className="text-ink-2 text-sm">{words.missing(missing)}</p>}
      {isSaving && (
        <SaveAsCohort question={question} name={name} onClose={() => setSaving(false)} />
      )}
    </div>
  );
}

// The name, the count, e-mail address, ids, whether identified, and since when.
const SHOWN = 6;

/** Return the columns of persons, after the name what each contributes. The list has the order of the
 * number: to sort the rows that are loaded would hide that there are more. */
function columnsOf(rows: readonly Row[]): Column<Row>[] {
  const [first, ...others] = (personColumns(rows) as Column<Row>[]).map((column) => ({
    ...column,
    sortable: false,
  }));
  const value: Column<Row> = {
    id: "value",
    header: words.count,
    align: "end",
    width: 100,
    cell: ({ value_at_data_point: at }) => (typeof at === "number" ? formatNumber(at) : null),
    text: ({ value_at_data_point: at }) => (typeof at === "number" ? at : null),
  };
  return first === undefined ? [] : [first, value, ...others];
}

/** Return the actor as a person, whose fields the API leaves out only for groups. */
const rowOf = (actor: Actor): Row => ({
  ...actor,
  uuid: actor.uuid ?? actor.id,
  distinct_ids: actor.distinct_ids ?? [],
  is_identified: actor.is_identified ?? false,
  created_at: actor.created_at ?? "",
  matched_recordings: [],
});

const everyPerson = (projectId: string, question: ActorsQuestion, signal: AbortSignal) =>
  everyRow(async (next) => {
    const page = await readActors(projectId, question, { next, limit: CSV_PAGE, signal });
    return { results: page.results.map(rowOf), next: page.next };
  });
