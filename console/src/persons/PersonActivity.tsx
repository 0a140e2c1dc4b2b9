import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ActivityCard } from "@/activity";
import { useProjectId } from "@/app/session";
import { words } from "@/words/persons";
import { type Person, personActivityQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/persons/$personId");

/** The changes that users and keys made to a person. */
export function PersonActivity({ person }: { person: Person }) {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(personActivityQuery(useProjectId(), person.id, page));
  const onPage = (next: number) => void navigate({ search: { tab: "activity", page: next } });
  return <ActivityCard query={query} page={page} onPage={onPage} empty={words.activity.empty} />;
}
