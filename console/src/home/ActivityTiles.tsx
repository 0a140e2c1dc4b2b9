import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ActivityList, itemHref } from "@/activity";
import { useProjectId } from "@/app/session";
import { Card, LINK } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { words } from "@/words/home";
import { changedFlagsQuery, recentWorkQuery } from "./queries";

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
            hrefOf={(entry) => itemHref(projectId, entry)}
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
    <Card
      title={words.work.title}
      actions={
        <Link to="/project/$projectId/activity" params={{ projectId }} className={LINK}>
          {words.work.all}
        </Link>
      }
    >
      <Loaded query={activity} rows={4}>
        {({ results }) => (
          <ActivityList
            entries={results}
            showItem
            hrefOf={(entry) => itemHref(projectId, entry)}
            empty={words.work.none}
          />
        )}
      </Loaded>
    </Card>
  );
}
