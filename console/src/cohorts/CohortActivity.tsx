import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ActivityCard } from "@/activity";
import { useProjectId } from "@/app/session";
import { type Cohort, cohortActivityQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/cohorts/$cohortId");

export function CohortActivity({ cohort }: { cohort: Cohort }) {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(cohortActivityQuery(useProjectId(), cohort.id, page));
  const onPage = (next: number) => void navigate({ search: { tab: "activity", page: next } });
  return <ActivityCard query={query} page={page} onPage={onPage} />;
}
