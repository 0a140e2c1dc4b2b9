import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Activity, Download } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { useProjectId } from "@/app/session";
import { Button, LinkButton } from "@/ui/Button";
import { SearchInput } from "@/ui/Field";
import { lazyPart } from "@/ui/lazyPart";
import { Page } from "@/ui/Page";
import { Select } from "@/ui/Select";
import { Empty, Failed, Loaded } from "@/ui/States";
import { DataTable, readSort, writeSort } from "@/ui/table";
import { words } from "@/words/events";
import { columns, type EventItem } from "./columns";
import type { Definition, Volumes } from "./queries";
import { definitionsQuery, volumesQuery } from "./queries";
import { type EventsSearch, KINDS, MARKS } from "./search";

const FIRST_SORT = "-volume";
// Loaded when it is opened.
const ExportDialog = lazyPart(
  "event export",
  async () => (await import("./ExportDialog")).ExportDialog,
);

export default function EventsPage() {
  const projectId = useProjectId();
  const search: EventsSearch = useSearch({ from: "/signed-in/project/$projectId/events" });
  const definitions = useQuery(definitionsQuery(projectId));
  const volumes = useQuery(volumesQuery(projectId));
  const items = useMemo(
    () => itemsOf(definitions.data?.results ?? [], volumes.data),
    [definitions.data, volumes.data],
  );
  const rows = useMemo(() => filtered(items, search), [items, search]);
  const [isExporting, setExporting] = useState(false);
  return (
    <Page
      title={words.title}
      description={words.description}
      actions={
        <Button icon={Download} onClick={() => setExporting(true)}>
          {words.exporting.open}
        </Button>
      }
    >
      {isExporting && <ExportDialog projectId={projectId} onClose={() => setExporting(false)} />}
      {volumes.error ? (
        <Failed error={volumes.error} onRetry={() => void volumes.refetch()} />
      ) : null}
      <Loaded query={definitions} isWaiting={volumes.isPending} rows={8}>
        {({ count }) =>
          count === 0 ? (
            <Empty icon={Activity} title={words.none}>
              <p>{words.noneHint}</p>
              <LinkButton
                to="/project/$projectId"
                params={{ projectId }}
                search={{ connect: true }}
              >
                {words.connect}
              </LinkButton>
            </Empty>
          ) : (
            <EventTable rows={rows} search={search} />
          )
        }
      </Loaded>
      {(volumes.data?.results.length ?? 0) >= 1000 && (
        <p className="text-ink-2">{words.more(1000)}</p>
      )}
    </Page>
  );
}

function EventTable({ rows, search }: { rows: readonly EventItem[]; search: EventsSearch }) {
  const projectId = useProjectId();
  const navigate = useNavigate({ from: "/project/$projectId/events" });
  const change = useCallback(
    (changes: { [Name in keyof EventsSearch]?: EventsSearch[Name] | undefined }) =>
      void navigate({
        search: (old) =>
          Object.fromEntries(
            Object.entries({ ...old, ...changes }).filter(([, value]) => value !== undefined),
          ),
        replace: true,
      }),
    [navigate],
  );
  const all = useCallback(
    async function* () {
      yield* rows;
    },
    [rows],
  );
  return (
    <DataTable
      name="events"
      label={words.list}
      columns={columns}
      rows={rows}
      rowId={(row) => row.definition.id}
      hrefOf={(row) => `/project/${projectId}/events/${row.definition.id}`}
      sort={readSort(search.sort ?? FIRST_SORT)}
      onSort={(sort) => change({ sort: writeSort(sort) || undefined })}
      csv={{ fileName: "events.csv", all }}
      empty={words.empty}
      toolbar={
        <>
          <SearchInput
            label={words.filter}
            value={search.q ?? ""}
            onChange={(q) => change({ q: q || undefined })}
          />
          <div className="w-48 max-sm:grow max-sm:basis-[40%]">
            <Select
              aria-label={words.kind}
              value={search.kind ?? "all"}
              options={KINDS.map((value) => ({ value, label: words.kinds[value] }))}
              onChange={(kind) => change({ kind: kind === "all" ? undefined : kind })}
            />
          </div>
          <div className="w-44 max-sm:grow max-sm:basis-[40%]">
            <Select
              aria-label={words.mark}
              value={search.mark ?? "all"}
              options={MARKS.map((value) => ({ value, label: words.marks[value] }))}
              onChange={(mark) => change({ mark: mark === "all" ? undefined : mark })}
            />
          </div>
        </>
      }
    />
  );
}

/** Definitions with what else is known of them. */
function itemsOf(definitions: readonly Definition[], volumes: Volumes | undefined): EventItem[] {
  const byName = new Map(volumes?.results.map((one) => [one.event, one]));
  // An event that is not among so many frequent ones may have any volume.
  const isWhole = volumes !== undefined && volumes.results.length < 1000;
  return definitions.map((definition) => {
    const volume = byName.get(definition.name);
    return {
      definition,
      total: volume?.total ?? (isWhole ? 0 : null),
      counts: volume?.counts ?? [],
    };
  });
}

function filtered(items: readonly EventItem[], search: EventsSearch): EventItem[] {
  const { q = "", kind = "all", mark = "all" } = search;
  const wanted = q.trim().toLowerCase();
  return items.filter(({ definition: { name, tags, description, hidden, verified } }) => {
    const isSystem = name.startsWith("$");
    if (kind === "custom" ? isSystem : kind === "system" && !isSystem) return false;
    if (mark === "all" && hidden) return false;
    if (mark === "hidden" && !hidden) return false;
    if (mark === "verified" && !verified) return false;
    return [name, description, ...tags].some((text) => text.toLowerCase().includes(wanted));
  });
}
