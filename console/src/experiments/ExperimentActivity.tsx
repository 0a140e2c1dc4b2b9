import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ActivityList } from "@/activity";
import { useProjectId } from "@/app/session";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { ACTIVITY_PAGE, type Experiment, experimentActivityQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/experiments/$experimentId");

export function ExperimentActivity({ experiment }: { experiment: Experiment }) {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const activity = useQuery(experimentActivityQuery(useProjectId(), experiment.id, page));
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
              onPage: (next) => void navigate({ search: { tab: "activity", page: next } }),
            }}
          />
        )}
      </Loaded>
    </Card>
  );
}
