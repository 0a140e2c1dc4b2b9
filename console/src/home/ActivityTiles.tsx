import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ActivityList } from "@/activity";
import { useProjectId } from "@/app/session";
import { prefix } from "@/lib/prefix";
import type { components } from "@/lib/schema";
import { Card, LINK } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { words } from "@/words/home";
import { changedFlagsQuery, recentWorkQuery } from "./queries";

type Entry = components["schemas"]["ActivityEntry"];

export function ChangedFlags() {
  const projectId = useProjectId();
  const activity = useQuery(changedFlagsQuery(projectId));
  return (
    <Card
      title={words.flags.title}
      actions={
        <Link to="/project/$projectId/flags" params={{ projectId }} className={LINK}>
          {words.flags.all}
        </Link>
      }
    >
      <Loaded query={activity} rows={4}>
        {({ results }) => (
          <ActivityList
            entries={results}
            showItem
            hrefOf={(entry) => hrefOf(projectId, entry)}
            empty={words.flags.none}
          />
        )}
      </Loaded>
    </Card>
  );
}

export function RecentWork() {
  const projectId = useProjectId();
  const activity = useQuery(recentWorkQuery(projectId));
  return (
    <Card title={words.work.title}>
      <Loaded query={activity} rows={4}>
        {({ results }) => (
          <ActivityList
            entries={results}
            showItem
            hrefOf={(entry) => hrefOf(projectId, entry)}
            empty={words.work.none}
          />
        )}
      </Loaded>
    </Card>
  );
}

// Screens of what the activity log is about; what is deleted has none any more.
const FOLDERS: Record<string, string> = {
  FeatureFlag: "flags",
  Cohort: "cohorts",
  EventDefinition: "events",
  Person: "persons",
};

function hrefOf(projectId: string, { scope, item_id: id, activity }: Entry): string | undefined {
  const folder = FOLDERS[scope];
  if (folder === undefined || activity === "deleted") return undefined;
  return `${prefix}/project/${projectId}/${folder}/${id}`;
}
