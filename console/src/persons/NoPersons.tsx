import { Users } from "lucide-react";
import { useProject, useProjectId } from "@/app/session";
import { prefix } from "@/lib/prefix";
import { Button, LinkButton } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { Empty } from "@/ui/States";
import { words } from "@/words/persons";

/** The list of a project in which no event has arrived. */
export function NoPersons() {
  const projectId = useProjectId();
  const token = useProject()?.api_token ?? "…";
  const host = JSON.stringify(location.origin + prefix);
  const snippet = `posthog.init(${JSON.stringify(token)}, { api_host: ${host} });
posthog.identify("user-17", { email: "ann@example.com", plan: "pro" });`;
  return (
    <Empty icon={Users} title={words.emptyTitle}>
      <p>{words.emptyHint}</p>
      <div className="w-full max-w-xl min-w-0">
        <Code text={snippet} what={words.snippet} />
      </div>
      <LinkButton look="primary" to="/project/$projectId" params={{ projectId }}>
        {words.toHome}
      </LinkButton>
    </Empty>
  );
}

export function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <Empty title={words.noMatchTitle}>
      <p>{words.noMatchHint}</p>
      <Button onClick={onClear}>{words.clearSearch}</Button>
    </Empty>
  );
}
