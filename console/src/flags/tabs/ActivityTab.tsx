import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type ActivityEntry, ActivityList } from "@/activity";
import { useProjectId } from "@/app/session";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { words } from "@/words/flagActivity";
import type { Flag } from "../model";
import { activityQuery } from "../queries";
import { RestoreDialog } from "./RestoreDialog";

const PAGE_SIZE = 20;

/** The changes of the flag and their authors; earlier versions can be restored. */
export function ActivityTab({ flag }: { flag: Flag }) {
  const projectId = useProjectId();
  const [page, setPage] = useState(1);
  const [restored, setRestored] = useState<ActivityEntry | null>(null);
  const activity = useQuery(activityQuery(projectId, flag.id, page, PAGE_SIZE));
  return (
    <Card title={words.title} description={words.hint}>
      <Loaded query={activity} rows={5}>
        {({ results, total_count: total }) => (
          <ActivityList
            entries={results}
            empty={words.empty}
            pages={{ page, pageSize: PAGE_SIZE, total, onPage: setPage }}
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
