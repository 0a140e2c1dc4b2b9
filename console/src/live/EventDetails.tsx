import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Button, LinkButton } from "@/ui/Button";
import { Copyable, CopyButton } from "@/ui/Copy";
import { Facts } from "@/ui/Page";
import { PropertiesTable } from "@/ui/properties";
import { useTimes } from "@/ui/times";
import { words } from "@/words/live";
import type { LiveEvent } from "./liveEvent";
import { personOfQuery } from "./queries";
import type { ChangeSearch } from "./search";

interface EventDetailsProps {
  event: LiveEvent;
  onFilter?: ChangeSearch;
}

/** All that is known of an event. */
export function EventDetails({ event, onFilter }: EventDetailsProps) {
  const times = useTimes();
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <PersonButton distinctId={event.distinct_id} />
        {onFilter && (
          <>
            <Button small onClick={() => onFilter({ event: event.event })}>
              {words.only.event}
            </Button>
            <Button
              small
              onClick={() => onFilter({ distinct_id: event.distinct_id, mine: undefined })}
            >
              {words.only.person}
            </Button>
          </>
        )}
        <CopyButton text={JSON.stringify(event, null, 2)} what={words.copyJson} />
      </div>
      <Facts
        facts={[
          [words.facts.time, times.exact(event.timestamp)],
          [
            words.facts.distinctId,
            <Copyable key="distinct" text={event.distinct_id} what={words.facts.distinctId} />,
          ],
          [words.facts.id, <Copyable key="id" text={event.id} what={words.facts.id} />],
        ]}
      />
      <PropertiesTable label={words.properties(event.event)} properties={event.properties} />
    </div>
  );
}

function PersonButton({ distinctId }: { distinctId: string }) {
  const projectId = useProjectId();
  const person = useQuery(personOfQuery(projectId, distinctId));
  if (person.isPending) {
    return (
      <span aria-busy className="text-ink-2">
        {words.personLoading}
      </span>
    );
  }
  if (!person.data) return <span className="text-ink-2">{words.noPerson}</span>;
  return (
    <LinkButton
      small
      to="/project/$projectId/persons/$personId"
      params={{ projectId, personId: person.data.uuid }}
    >
      {words.toPerson}
    </LinkButton>
  );
}
