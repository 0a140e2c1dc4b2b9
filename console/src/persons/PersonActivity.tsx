import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ActivityList } from "@/activity";
import { useProjectId } from "@/app/session";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { words } from "@/words/persons";
import { ACTIVITY_PAGE, type Person, personActivityQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/persons/$personId");

/** The changes that users and keys made to a person. */
export function PersonActivity({ person }: { person: Person }) {
  const projectId = useProjectId();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const activity = useQuery(personActivityQuery(projectId, person.id, page));
  return (
    <Card>
      <Loaded query={activity}>
        {(found) => (
          <ActivityList
            entries={found.results}
            empty={words.activity.empty}
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
