import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { Plug } from "lucide-react";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { LinkButton } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { Failed, Skeleton } from "@/ui/States";
import { words } from "@/words/home";
import { ChangedFlags, RecentWork } from "./ActivityTiles";
import { Onboarding } from "./Onboarding";
import { Problems } from "./Problems";
import { hasEventsQuery } from "./queries";
import type { HomeSearch } from "./search";
import { EventsToday, PersonsToday } from "./TodayTiles";

export default function HomePage() {
  const projectId = useProjectId();
  const search: HomeSearch = useSearch({ from: "/signed-in/project/$projectId/" });
  const hasEvents = useQuery(hasEventsQuery(projectId));
  // The project whose first event was awaited here: what it brought stays until the user goes on.
  const [awaitedIn, setAwaitedIn] = useState<string | null>(null);
  if (hasEvents.data === false && awaitedIn !== projectId) setAwaitedIn(projectId);
  if (search.connect || awaitedIn === projectId) {
    return (
      <Onboarding
        key={projectId}
        sdk={search.sdk ?? "html"}
        isFirst={awaitedIn === projectId}
        onDone={() => setAwaitedIn(null)}
      />
    );
  }
  if (hasEvents.data === true) return <Overview />;
  return (
    <Page title={words.title}>
      {hasEvents.error ? (
        <Failed error={hasEvents.error} onRetry={() => void hasEvents.refetch()} />
      ) : (
        <Skeleton rows={5} />
      )}
    </Page>
  );
}

function Overview() {
  const projectId = useProjectId();
  return (
    <Page
      title={words.title}
      actions={
        <LinkButton
          to="/project/$projectId"
          params={{ projectId }}
          search={{ connect: true }}
          icon={Plug}
        >
          {words.connect}
        </LinkButton>
      }
    >
      <div className="grid gap-4 lg:grid-cols-3">
        <EventsToday />
        <div className="flex min-w-0 flex-col gap-4">
          <PersonsToday />
          <Problems />
        </div>
      </div>
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <ChangedFlags />
        <RecentWork />
      </div>
    </Page>
  );
}
