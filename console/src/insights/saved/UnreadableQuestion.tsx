import { ProblemList } from "@/insights/question/ProblemList";
import { Notice } from "@/ui/Badge";
import { Code } from "@/ui/Copy";
import { words } from "@/words/insightsSaved";
import type { Insight } from "./queries";

interface Props {
  insight: Insight;
  problems: readonly string[];
}

/** A question that the builder cannot show: what is unsupported, and the question as JSON. */
export function UnreadableQuestion({ insight, problems }: Props) {
  const stored = insight.query ?? insight.filters;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Notice tone="warn">
        <p>{words.cannotOpen}</p>
        <ProblemList problems={problems} />
      </Notice>
      <p className="text-ink-2">{words.storedAs}</p>
      <Code text={JSON.stringify(stored, null, 2)} what={words.stored} />
    </div>
  );
}
