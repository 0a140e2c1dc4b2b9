import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ActivityList } from "@/activity";
import { useProjectId } from "@/app/session";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { ACTIVITY_PAGE, insightActivityQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/insights/$insightId");

export function InsightActivity({ insightId }: { insightId: number }) {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const activity = useQuery(insightActivityQuery(useProjectId(), insightId, page));
  return (
    <Card>
      <Loaded query={activity}>
        {(found) => (
          <ActivityList
            entries={found.results}
            pages={{
              page,
              pageSize: ACTIVITY_PAGE,
              total: found.total_count,
              onPage: (next) => void navigate({ search: (before) => ({ ...before, page: next }) }),
            }}
          />
        )}
      </Loaded>
    </Card>
  );
}
