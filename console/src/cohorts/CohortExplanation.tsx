import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Notice } from "@/ui/Badge";
import { Card, Facts } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/cohorts";
import { formatNumber } from "@/words/format";
import { type Cohort, explainQuery } from "./queries";

const WORDS = words.explain;

/** The criteria in English, and what the last calculation cost. */
export function CohortExplanation({ cohort }: { cohort: Cohort }) {
  const explained = useQuery(explainQuery(useProjectId(), cohort.id, cohort.last_calculation));
  return (
    <Loaded query={explained} rows={5}>
      {({ sentence, last_run: run, problem }) => (
        <div className="flex min-w-0 flex-col gap-4">
          {problem && (
            <Notice tone="warn">
              <Visible text={problem} />
            </Notice>
          )}
          {sentence === null && <p className="text-ink-2">{WORDS.none}</p>}
          {sentence !== null && (
            <Card title={WORDS.english}>
              <p>
                <Visible text={sentence} />
              </p>
            </Card>
          )}
          {run && (
            <Card title={WORDS.lastRun}>
              <Facts
                facts={[
                  [WORDS.started, <Time key="at" at={run.started_at} />],
                  [WORDS.took, WORDS.seconds(run.seconds.toFixed(2))],
                  [WORDS.rows, formatNumber(run.rows_read)],
                  [WORDS.members, formatNumber(run.members)],
                ]}
              />
            </Card>
          )}
        </div>
      )}
    </Loaded>
  );
}
