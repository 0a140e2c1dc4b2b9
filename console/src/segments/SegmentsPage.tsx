import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Shapes } from "lucide-react";
import { useProjectId } from "@/app/session";
import { NamedItemsList } from "@/namedItems";
import { words } from "@/words/segments";
import { COLUMNS } from "./columns";
import { segmentsQuery } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/segments");

export default function SegmentsPage() {
  const projectId = useProjectId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <NamedItemsList
      kind="segments"
      icon={Shapes}
      words={words}
      columns={COLUMNS}
      items={useQuery(segmentsQuery(projectId, search))}
      search={search}
      onSearch={(next) => void navigate({ search: next, replace: true })}
    />
  );
}
