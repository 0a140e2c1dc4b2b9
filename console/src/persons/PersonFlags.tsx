import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { useMemo, useState } from "react";
import { useProjectId } from "@/app/session";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { SearchInput, SelectField } from "@/ui/Field";
import { Visible } from "@/ui/properties";
import { Loaded, Skeleton } from "@/ui/States";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/persons";
import { GroupKeys } from "./GroupKeys";
import { type FlagNow, flagsNowQuery, type Person } from "./queries";
import type { PersonSearch } from "./routes";

const route = getRouteApi("/signed-in/project/$projectId/persons/$personId");
const WORDS = words.flags;

const answerOf = ({ value }: FlagNow): string =>
  value === true ? WORDS.on : value === false ? WORDS.off : value;

export function reasonOf({ reason, condition }: Pick<FlagNow, "reason" | "condition">): string {
  const place = condition === null ? WORDS.aCondition : WORDS.condition(condition + 1);
  return WORDS.reasons[reason]?.(place) ?? reason;
}

const COLUMNS: readonly Column<FlagNow>[] = [
  {
    id: "flag",
    header: WORDS.flag,
    grow: true,
    fixed: true,
    sortable: true,
    cell: ({ key }) => <Visible text={key} />,
    text: ({ key }) => key,
  },
  {
    id: "value",
    header: WORDS.value,
    sortable: true,
    cell: (flag) => (
      <Badge tone={flag.value === false ? "neutral" : "good"}>
        <Visible text={answerOf(flag)} />
      </Badge>
    ),
    text: answerOf,
  },
  {
    id: "why",
    header: WORDS.why,
    grow: true,
    wrap: true,
    sortable: true,
    cell: reasonOf,
    text: reasonOf,
  },
];

/** What an SDK would be answered for this person now, and why. */
export function PersonFlags({ person }: { person: Person }) {
  const [first] = person.distinct_ids;
  const { id = first } = route.useSearch();
  if (id === undefined) return <p>{WORDS.noIds}</p>;
  return <Evaluated key={id} person={person} distinctId={id} />;
}

function Evaluated({ person, distinctId }: { person: Person; distinctId: string }) {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const groups = useMemo(() => search.groups ?? {}, [search.groups]);
  const flags = useQuery(flagsNowQuery(projectId, distinctId, groups));
  const change = (next: PersonSearch) =>
    void navigate({ search: { ...search, ...next, tab: "flags" }, replace: true });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <p className="text-ink-2">{WORDS.hint}</p>
      <div className="flex flex-wrap items-end gap-3">
        {person.distinct_ids.length > 1 && (
          <SelectField
            label={WORDS.id}
            className="w-72 max-w-full"
            value={distinctId}
            options={person.distinct_ids.map((id) => ({ value: id, label: id }))}
            onChange={(id) => change({ id })}
          />
        )}
        <GroupKeys groups={groups} onChange={(given) => change({ groups: given })} />
        <Button icon={RefreshCw} isBusy={flags.isFetching} onClick={() => void flags.refetch()}>
          {WORDS.refresh}
        </Button>
      </div>
      {flags.isPending && <Skeleton rows={4} />}
      {!flags.isPending && (
        <Loaded query={flags}>{(rows) => <FlagTable projectId={projectId} flags={rows} />}</Loaded>
      )}
    </div>
  );
}

export function FlagTable({ projectId, flags }: { projectId: string; flags: readonly FlagNow[] }) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const rows = useMemo(
    () => flags.filter(({ key, name }) => `${key} ${name}`.toLowerCase().includes(wanted)),
    [flags, wanted],
  );
  return (
    <DataTable<FlagNow>
      name="person-flags"
      label={WORDS.label}
      columns={COLUMNS}
      rows={rows}
      rowId={({ key }) => key}
      hrefOf={({ id }) => `/project/${projectId}/flags/${id ?? ""}`}
      toolbar={<SearchInput label={WORDS.search} value={text} onChange={setText} />}
      empty={WORDS.empty}
    />
  );
}
