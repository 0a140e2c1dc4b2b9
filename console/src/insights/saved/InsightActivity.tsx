import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ActivityCard } from "@/activity";
import { useProjectId } from "@/app/session";
import { insightActivityQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/insights/$insightId");

export function InsightActivity({ insightId }: { insightId: number }) {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(insightActivityQuery(useProjectId(), insightId, page));
  const onPage = (next: number) =>
    void navigate({ search: (before) => ({ ...before, page: next }) });
  return <ActivityCard query={query} page={page} onPage={onPage} />;
}
