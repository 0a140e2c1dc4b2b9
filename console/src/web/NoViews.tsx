import { useQuery } from "@tanstack/react-query";
import { ChartNoAxesCombined } from "lucide-react";
import { preflightQuery, useProject, useProjectId } from "@/app/session";
import { captureUrl, snippet } from "@/lib/snippets";
import { LinkButton } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { Empty } from "@/ui/States";
import { words } from "@/words/web";

/** Shown for a project that has never received a page view. */
export default function NoViews() {
  const projectId = useProjectId();
  const project = useProject();
  const preflight = useQuery(preflightQuery);
  return (
    <Empty icon={ChartNoAxesCombined} title={words.first}>
      <p>{words.firstHint}</p>
      {/* Reserves the height of the code, so that the button below does not move. */}
      <div className="min-h-[6.55rem] w-full min-w-0">
        {project !== undefined && preflight.data !== undefined && (
          <Code
            text={snippet("html", project.api_token, captureUrl(preflight.data.capture_url))}
            what={words.snippet}
          />
        )}
      </div>
      <LinkButton to="/project/$projectId" params={{ projectId }} search={{ connect: true }}>
        {words.toOnboarding}
      </LinkButton>
    </Empty>
  );
}
