import { useNavigate } from "@tanstack/react-router";
import { Database } from "lucide-react";
import { useProjectId } from "@/app/session";
import type { Query } from "@/insights/question/wire";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { Button } from "@/ui/Button";
import { toastError } from "@/ui/Toast";
import { words } from "@/words/insightsBuilder";

type Schemas = components["schemas"];

/** A button that opens the question in the SQL editor, and says what SQL cannot say of it. */
export function OpenAsSql({ query }: { query: Query }) {
  const projectId = useProjectId();
  const navigate = useNavigate();
  const open = async () => {
    try {
      const text = await textOf(projectId, query);
      await navigate({
        to: "/project/$projectId/sql",
        params: { projectId },
        search: { query: text },
      });
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <Button icon={Database} onClick={() => void open()}>
      {words.asSql}
    </Button>
  );
}

async function textOf(projectId: string, query: Query): Promise<string> {
  const answer = await dataOf(
    api.POST("/api/projects/{project_id}/query/", {
      params: { path: { project_id: projectId } },
      body: { query: query as Schemas["InsightQuery"], as_sql: true },
    }),
  );
  return (answer as Schemas["QueryAsSqlBody"]).hogql;
}
