import { useInfiniteQuery } from "@tanstack/react-query";
import { Users } from "lucide-react";
import { useMemo, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { useTyped } from "@/lib/hooks";
import { everyRow } from "@/lib/paging";
import { type Person, personColumns } from "@/persons";
import { Button } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { Visible } from "@/ui/properties";
import { Failed, Skeleton } from "@/ui/States";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { formatNumber } from "@/words/format";
import { words } from "@/words/insights";
import { type Actor, type ActorsSource, actorsQuery } from "./actors";
import { SaveAsCohort } from "./SaveAsCohort";

export interface ActorsTableProps {
  source: ActorsSource;
  /** Whether groups are counted instead of persons. */
  ofGroups?: boolean;
  /** The suggested name for a cohort of these persons. */
  name: string;
}

const CSV_PAGE = 1_000;
/** A person or group, with its contribution to the number. */
type Row = Person & Pick<Actor, "value_at_data_point" | "group_key" | "group_type_index">;

export default function ActorsTable({ source, name, ofGroups = false }: ActorsTableProps) {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  const [search, setSearch] = useState("");
  const [typed, setTyped] = useTyped(search, setSearch);
  const [isSaving, setSaving] = useState(false);
  const actors = useInfiniteQuery(actorsQuery(projectId, source, search.trim()));
  const rows = useMemo(
    () => actors.data?.pages.flatMap((page) => page.results.map(rowOf)) ?? [],
    [actors.data],
  );
  const { valueHeader } = source;
  const columns = useMemo(
    () => withMeaning(valueHeader, ofGroups ? GROUP_COLUMNS : columnsOf(rows)),
    [valueHeader, ofGroups, rows],
  );
  const hidden = useMemo(
    () => ["email", ...columns.slice(SHOWN).map((column) => column.id)],
    [columns],
  );
  const texts = ofGroups ? words.ofGroups : words.ofPersons;
  const missing = actors.data?.pages.reduce((sum, page) => sum + page.missing, 0) ?? 0;
  return (
    <div className="flex min-w-0 flex-col gap-3" aria-busy={actors.isFetching}>
      {actors.isError && <Failed error={actors.error} onRetry={() => void actors.refetch()} />}
      {actors.isPending ? (
        <Skeleton rows={8} />
      ) : (
        <DataTable<Row>
          name={ofGroups ? "group-actors" : "actors"}
          label={texts.found}
          columns={columns}
          initiallyHidden={hidden}
          rows={rows}
          rowId={(row) => row.id}
          hrefOf={(row) => hrefOf(projectId, row)}
          maxHeight="calc(100dvh - 15rem)"
          more={{
            hasMore: actors.hasNextPage,
            isLoading: actors.isFetchingNextPage,
            load: () => void actors.fetchNextPage(),
          }}
          csv={{
            fileName: texts.csvName,
            all: (signal) => everyActor(projectId, source, signal),
          }}
          toolbar={
            <>
              <SearchInput label={texts.search} value={typed} onChange={setTyped} />
              {canEdit && !ofGroups && (
                <Button icon={Users} onClick={() => setSaving(true)}>
                  {words.save}
                </Button>
              )}
            </>
          }
          empty={search === "" ? texts.none : texts.noMatch}
        />
      )}
      {missing > 0 && <p className="text-ink-2 text-sm">{words.missing(missing)}</p>}
      {isSaving && <SaveAsCohort source={source} name={name} onClose={() => setSaving(false)} />}
    </div>
  );
}

function hrefOf(projectId: string, row: Row): string {
  const { group_key: key, group_type_index: type } = row;
  if (key === undefined || type === undefined) return `/project/${projectId}/persons/${row.id}`;
  return `/project/${projectId}/groups/${type}/${encodeURIComponent(key)}`;
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
  return first === undefined ? [] : [first, VALUE, ...others];
}

const VALUE: Column<Row> = {
  id: "value",
  header: words.count,
  align: "end",
  width: 100,
  cell: ({ value_at_data_point: at }) =>
    typeof at === "number" ? formatNumber(at) : typeof at === "string" ? <Time at={at} /> : null,
  text: ({ value_at_data_point: at }) =>
    typeof at === "number" || typeof at === "string" ? at : null,
};

const withMeaning = (valueHeader: string, columns: readonly Column<Row>[]) =>
  columns.map((one) => (one === VALUE ? { ...one, header: valueHeader } : one));

const GROUP_COLUMNS: readonly Column<Row>[] = [
  {
    id: "name",
    header: words.name,
    fixed: true,
    grow: true,
    cell: ({ name }) => <Visible text={name} />,
    text: ({ name }) => name,
  },
  VALUE,
  {
    id: "key",
    header: words.key,
    width: 220,
    cell: ({ group_key: key = "" }) => <Visible text={key} />,
    text: ({ group_key: key = "" }) => key,
  },
];

/** Return the actor as a person, whose fields the API leaves out only for groups. */
const rowOf = (actor: Actor): Row => ({
  ...actor,
  uuid: actor.uuid ?? actor.id,
  distinct_ids: actor.distinct_ids ?? [],
  is_identified: actor.is_identified ?? false,
  created_at: actor.created_at ?? "",
  matched_recordings: [],
});

const everyActor = (projectId: string, source: ActorsSource, signal: AbortSignal) =>
  everyRow(async (next) => {
    const page = await source.read(projectId, { next, limit: CSV_PAGE, signal });
    return { results: page.results.map(rowOf), next: page.next };
  });
