import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { Plug } from "lucide-react";
import { useState } from "react";
import { useIsAdmin, useProject, useProjectId } from "@/app/session";
import { isFlag, useStored } from "@/lib/storage";
import { LinkButton } from "@/ui/Button";
import { lazyPart } from "@/ui/lazyPart";
import { Page } from "@/ui/Page";
import { Failed, Skeleton } from "@/ui/States";
import { words } from "@/words/home";
import { ChangedFlags, RecentWork } from "./ActivityTiles";
import { Onboarding } from "./Onboarding";
import { Problems } from "./Problems";
import { hasEventsQuery } from "./queries";
import type { HomeSearch } from "./search";
import { EventsToday, PersonsToday } from "./TodayTiles";

// The name that the first start of a server gives a project.
const MADE_UP_PROJECT = "Default project";

const FirstProject = lazyPart(
  "first project",
  async () => (await import("./FirstProject")).default,
);

export default function HomePage() {
  const projectId = useProjectId();
  const search: HomeSearch = useSearch({ from: "/signed-in/project/$projectId/" });
  const hasEvents = useQuery(hasEventsQuery(projectId));
  // The project whose first event was awaited here: what it brought stays until the user goes on.
  const [awaitedIn, setAwaitedIn] = useState<string | null>(null);
  if (hasEvents.data === false && awaitedIn !== projectId) setAwaitedIn(projectId);
  const project = useProject();
  const isAdmin = useIsAdmin();
  const [wasAsked, setWasAsked] = useStored("first project asked", false, isFlag);
  const isMadeUp = isAdmin && project?.name === MADE_UP_PROJECT;
  if (isMadeUp && awaitedIn === projectId && !wasAsked) {
    return <FirstProject project={project} onDone={() => setWasAsked(true)} />;
  }
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

const HomeDashboard = lazyPart(
  "home dashboard",
  async () => (await import("@/dashboards")).HomeDashboard,
  8,
);

function Overview() {
  const projectId = useProjectId();
  const project = useProject();
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
      {project === undefined ? (
        <Skeleton rows={8} />
      ) : (
        <Content dashboardId={project.primary_dashboard} />
      )}
    </Page>
  );
}

/** The dashboard that was chosen, if there still is one, below what fails. */
function Content({ dashboardId }: { dashboardId: number | null }) {
  if (dashboardId === null) return <Standard />;
  return (
    <HomeDashboard id={dashboardId} above={<Problems />}>
      <Standard />
    </HomeDashboard>
  );
}

function Standard() {
  return (
    <>
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
    </>
  );
}
