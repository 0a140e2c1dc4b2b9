import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { MousePointerClick } from "lucide-react";
import { useProjectId } from "@/app/session";
import { NamedItemsList } from "@/namedItems";
import { words } from "@/words/actions";
import { COLUMNS } from "./columns";
import { actionsQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/actions");

export default function ActionsPage() {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <NamedItemsList
      kind="actions"
      icon={MousePointerClick}
      words={words}
      columns={COLUMNS}
      items={useQuery(actionsQuery(projectId, search))}
      search={search}
      onSearch={(next) => void navigate({ search: next, replace: true })}
    />
  );
}
