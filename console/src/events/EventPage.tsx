import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Radio } from "lucide-react";
import { ActivityList } from "@/activity";
import { useProjectId } from "@/app/session";
import { AskLink } from "@/insights";
import { LinkButton } from "@/ui/Button";
import { CopyButton } from "@/ui/Copy";
import { Card, LINK, Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { words } from "@/words/events";
import { EventAbout } from "./EventAbout";
import { EventProperties } from "./EventProperties";
import { EventUses } from "./EventUses";
import { EventVolume } from "./EventVolume";
import { activityQuery, type Definition, definitionQuery } from "./queries";
import { RemoveDefinition } from "./RemoveDefinition";

const route = getRouteApi("/signed-in/project/$projectId/events/$definitionId");
const ENTRIES = 10;

export default function EventPage() {
  const projectId = useProjectId();
  const { definitionId } = route.useParams();
  const definition = useQuery(definitionQuery(projectId, definitionId));
  const name = definition.data?.name ?? words.eventTitle;
  return (
    <Page
      title={name}
      heading={
        <span className="flex items-center gap-1">
          <Visible text={name} />
          {definition.data !== undefined && <CopyButton text={name} what={words.columns.name} />}
        </span>
      }
      back={
        <Link to="/project/$projectId/events" params={{ projectId }} className={LINK}>
          {words.back}
        </Link>
      }
      actions={
        definition.data !== undefined && (
          <>
            <AskLink about={{ series: [{ event: name }] }} />
            <LinkButton
              to="/project/$projectId/live"
              params={{ projectId }}
              search={{ event: name }}
              icon={Radio}
            >
              {words.live}
            </LinkButton>
            <RemoveDefinition definition={definition.data} />
          </>
        )
      }
    >
      <Loaded query={definition} rows={6}>
        {(found) => <Parts definition={found} />}
      </Loaded>
    </Page>
  );
}

function Parts({ definition }: { definition: Definition }) {
  return (
    <>
      <div className="grid gap-4 lg:grid-cols-3">
        <EventVolume event={definition.name} />
        <EventAbout definition={definition} />
      </div>
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <EventProperties event={definition.name} />
        <div className="flex min-w-0 flex-col gap-4">
          <EventUses event={definition.name} />
          <Changes definition={definition} />
        </div>
      </div>
    </>
  );
}

function Changes({ definition }: { definition: Definition }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { page = 1 } = search;
  const onPage = (next: number) =>
    void navigate({ search: { ...search, page: next }, resetScroll: false });
  const activity = useQuery(activityQuery(useProjectId(), definition.id, page));
  return (
    <Card title={words.activity.title}>
      <Loaded query={activity} rows={2}>
        {({ results, total_count: total }) => (
          <ActivityList
            entries={results}
            empty={words.activity.none}
            pages={{ page, pageSize: ENTRIES, total, onPage }}
          />
        )}
      </Loaded>
    </Card>
  );
}
