import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { type ActivityEntry, ActivityList } from "@/activity";
import { useProjectId } from "@/app/session";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { words } from "@/words/flagActivity";
import type { Flag } from "../model";
import { activityQuery } from "../queries";
import { RestoreDialog } from "./RestoreDialog";

const route = getRouteApi("/signed-in/project/$projectId/flags/$flagId");
const PAGE_SIZE = 20;

/** The changes of the flag and their authors; earlier versions can be restored. */
export function ActivityTab({ flag }: { flag: Flag }) {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { page = 1 } = search;
  const [restored, setRestored] = useState<ActivityEntry | null>(null);
  const onPage = (next: number) =>
    void navigate({ search: { ...search, page: next }, resetScroll: false });
  const activity = useQuery(activityQuery(projectId, flag.id, page, PAGE_SIZE));
  return (
    <Card title={words.title} description={words.hint}>
      <Loaded query={activity} rows={5}>
        {({ results, total_count: total }) => (
          <ActivityList
            entries={results}
            empty={words.empty}
            pages={{ page, pageSize: PAGE_SIZE, total, onPage }}
            {...(flag.can_edit && { onRestore: setRestored })}
            // The newest is what the flag is.
            canRestore={(entry) => page > 1 || entry !== results[0]}
          />
        )}
      </Loaded>
      {restored !== null && (
        <RestoreDialog flag={flag} entry={restored} onClose={() => setRestored(null)} />
      )}
    </Card>
  );
}
