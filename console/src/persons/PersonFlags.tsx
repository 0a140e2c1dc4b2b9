import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { groupTypesQuery } from "@/groups";
import type { components } from "@/lib/schema";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copy";
import { SelectField } from "@/ui/Select";
import { Loaded, Skeleton } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/persons";
import { FlagTable } from "./FlagTable";
import { GroupKeys } from "./GroupKeys";
import { currentClientQuery, flagsNowQuery, identifiedFirst, type Person } from "./queries";
import type { PersonSearch } from "./search";

type Client = components["schemas"]["PersonClient"];

const route = getRouteApi("/signed-in/project/$projectId/persons/$personId");
const WORDS = words.flags;

/** The flags of this person as an SDK would get them now, with the reasons. */
export function PersonFlags({ person }: { person: Person }) {
  const projectId = useProjectId();
  const client = useQuery(currentClientQuery(projectId, person.id));
  const isWaiting = useQuery(groupTypesQuery(projectId)).isPending;
  const { id } = route.useSearch();
  if (person.distinct_ids.length === 0) return <p>{WORDS.noIds}</p>;
  if (client.isPending || isWaiting) return <Skeleton rows={4} />;
  const [likely = ""] = identifiedFirst(person.distinct_ids);
  const distinctId = id ?? client.data?.distinct_id ?? likely;
  return (
    <Evaluated key={distinctId} person={person} distinctId={distinctId} client={client.data} />
  );
}

interface EvaluatedProps {
  person: Person;
  distinctId: string;
  /** undefined where the events could not be read */
  client: Client | undefined;
}

function Evaluated({ person, distinctId, client }: EvaluatedProps) {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const isCurrent = client?.distinct_id === distinctId;
  const groups = useMemo(
    () => search.groups ?? (isCurrent ? client.groups : {}),
    [search.groups, isCurrent, client],
  );
  const deviceId = isCurrent ? client.device_id : null;
  const flags = useQuery(flagsNowQuery(projectId, distinctId, groups, deviceId));
  const change = (next: PersonSearch) =>
    void navigate({ search: { ...search, ...next, tab: "flags" }, replace: true });
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <p className="text-ink-2">
        {WORDS.as} <Copyable text={distinctId} what={words.distinctId} />{" "}
        {isCurrent && client.seen_at !== null ? (
          <>
            {WORDS.usedNow} <Time at={client.seen_at} />
          </>
        ) : null}
      </p>
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
        <Loaded query={flags}>
          {(rows) => (
            <FlagTable
              projectId={projectId}
              flags={rows}
              distinctId={distinctId}
              empty={WORDS.empty}
            />
          )}
        </Loaded>
      )}
    </div>
  );
}
