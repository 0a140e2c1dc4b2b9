import { useQuery } from "@tanstack/react-query";
import { Radio } from "lucide-react";
import { preflightQuery, useProject } from "@/app/session";
import { captureUrl, snippet } from "@/lib/snippets";
import { Code } from "@/ui/Copy";
import { Empty } from "@/ui/States";
import { words } from "@/words/live";

export function NoEvents({ isFiltered }: { isFiltered: boolean }) {
  const project = useProject();
  const preflight = useQuery(preflightQuery);
  if (isFiltered) {
    return (
      <Empty icon={Radio} title={words.emptyFiltered}>
        <p>{words.emptyFilteredHint}</p>
      </Empty>
    );
  }
  return (
    <Empty icon={Radio} title={words.empty}>
      <p>{words.emptyHint}</p>
      {project !== undefined && preflight.data !== undefined && (
        <div className="w-full max-w-full">
          <Code
            text={snippet("curl", project.api_token, captureUrl(preflight.data.capture_url))}
            what={words.curl}
          />
        </div>
      )}
    </Empty>
  );
}
