import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ActivityCard } from "@/activity";
import { useProjectId } from "@/app/session";
import { type Experiment, experimentActivityQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/experiments/$experimentId");

export function ExperimentActivity({ experiment }: { experiment: Experiment }) {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(experimentActivityQuery(useProjectId(), experiment.id, page));
  const onPage = (next: number) => void navigate({ search: { tab: "activity", page: next } });
  return <ActivityCard query={query} page={page} onPage={onPage} />;
}
