import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { useMemo } from "react";
import { useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { SelectField } from "@/ui/Field";
import { Loaded, Skeleton } from "@/ui/States";
import { words } from "@/words/persons";
import { FlagTable } from "./FlagTable";
import { GroupKeys } from "./GroupKeys";
import { flagsNowQuery, type Person } from "./queries";
import type { PersonSearch } from "./search";

const route = getRouteApi("/signed-in/project/$projectId/persons/$personId");
const WORDS = words.flags;

/** The flags of this person as an SDK would get them now, with the reasons. */
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
        <Loaded query={flags}>
          {(rows) => <FlagTable projectId={projectId} flags={rows} empty={WORDS.empty} />}
        </Loaded>
      )}
    </div>
  );
}
