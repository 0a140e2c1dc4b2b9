import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { useNow } from "@/lib/hooks";
import { Badge, type Tone } from "@/ui/Badge";
import { Card, Facts } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/flagUsage";
import { formatNumber } from "@/words/format";
import { overviewQuery } from "../listQueries";
import type { Flag } from "../model";
import { type Evidence, evidenceOf, type Verdict } from "./removal";
import { usageQuery } from "./usageQueries";

const TEXTS = words.removal;
const LAST_MONTH = { from: "-30d" };
const TONES: Record<Verdict, Tone> = {
  unused: "good",
  same: "warn",
  recent: "neutral",
  off: "warn",
  needed: "neutral",
  young: "neutral",
};

/** Whether the flag can be removed from the code and deleted, with the evidence. */
export function RemovalCard({ flag }: { flag: Flag }) {
  const projectId = useProjectId();
  const now = useNow();
  const usage = useQuery(usageQuery(projectId, flag.id, LAST_MONTH));
  const overview = useQuery(overviewQuery(projectId));
  return (
    <Card title={TEXTS.title}>
      <Loaded query={usage} isWaiting={overview.isPending} rows={7}>
        {(loaded) => (
          <Findings
            flag={flag}
            evidence={evidenceOf(flag, loaded, overview.data?.get(flag.id), now)}
          />
        )}
      </Loaded>
    </Card>
  );
}

function Findings({ flag, evidence }: { flag: Flag; evidence: Evidence }) {
  const { verdict } = evidence;
  const names = TEXTS.evidence;
  return (
    <div className="flex flex-col gap-3">
      <p>
        <Badge tone={TONES[verdict]}>{TEXTS.verdicts[verdict]}</Badge>
      </p>
      {TEXTS.advice[verdict] !== "" && <p>{TEXTS.advice[verdict]}</p>}
      <Facts
        facts={[
          [names.state, flag.active ? names.on : names.off],
          [names.same, evidence.isSame ? names.yes : names.no],
          [
            names.evaluated,
            evidence.lastEvaluatedAt === null ? (
              names.never
            ) : (
              <Time key="at" at={evidence.lastEvaluatedAt} />
            ),
          ],
          [names.calls, formatNumber(evidence.calls)],
          [names.evaluations, formatNumber(evidence.evaluations)],
          [names.created, <Time key="at" at={flag.created_at} />],
        ]}
      />
    </div>
  );
}
