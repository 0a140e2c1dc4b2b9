import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleCheck, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useProjectId } from "@/app/session";
import type { components } from "@/lib/schema";
import { Card, LINK } from "@/ui/Page";
import { SafeText, Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { ClockTime, Time } from "@/ui/Time";
import { useTimes } from "@/ui/times";
import { words } from "@/words/home";
import { lastEventQuery, problemsQuery } from "./queries";

type Problem = components["schemas"]["ProblemBody"];

const DETAIL_SHOWN = 140;
const SILENT_MS = 24 * 3_600_000;

/** A list of problems, each with a link to the screen where it can be fixed. */
export function Problems() {
  const projectId = useProjectId();
  const problems = useQuery(problemsQuery(projectId));
  const last = useQuery(lastEventQuery(projectId)).data ?? null;
  const { now } = useTimes();
  const isSilent = last !== null && now - Date.parse(last) > SILENT_MS;
  return (
    <Card title={words.problems.title} className="grow">
      <Loaded query={problems} rows={2}>
        {({ results }) =>
          results.length === 0 && !isSilent ? (
            <>
              <p className="flex items-center gap-2 text-ink-2">
                <CircleCheck aria-hidden className="size-4 text-good" />
                {words.problems.none}
              </p>
              <p className="mt-1 min-h-5 text-ink-3 text-sm">
                {last !== null && (
                  <>
                    {words.problems.lastEvent} <Time at={last} />
                  </>
                )}
              </p>
            </>
          ) : (
            <ul className="flex max-h-96 flex-col gap-3 overflow-y-auto">
              {last !== null && isSilent && <Silence since={last} />}
              {results.map((one) => (
                <ProblemItem
                  key={`${one.kind} ${one.item_id} ${one.alert_id} ${one.detail}`}
                  problem={one}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

/** A warning that events have stopped arriving, as when an app fails to send them. */
function Silence({ since }: { since: string }) {
  return (
    <li className="flex gap-2">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0">
        <Link
          to="/project/$projectId/ingestion"
          params={{ projectId: useProjectId() }}
          className={LINK}
        >
          {words.problems.silence}
        </Link>
        <p className="text-ink-3 text-sm">
          {words.problems.lastEvent} <ClockTime at={since} />
        </p>
      </div>
    </li>
  );
}

function ProblemItem({ problem }: { problem: Problem }) {
  return (
    <li className="flex gap-2">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0">
        <ProblemLink problem={problem}>
          <Visible text={sentenceOf(problem)} />
        </ProblemLink>
        {problem.detail !== null && (
          <p className="text-ink-2 text-sm">
            <SafeText text={detailOf(problem.kind, problem.detail)} length={DETAIL_SHOWN} />
          </p>
        )}
        {problem.at !== null && (
          <p className="text-ink-3 text-sm">
            <Time at={problem.at} />
          </p>
        )}
      </div>
    </li>
  );
}

/** Return the error of a problem; of a release it is the names of a state and a reason. */
const detailOf = (kind: Problem["kind"], detail: string): string =>
  kind === "guarded_release" ? detail.replaceAll("_", " ") : detail;

function sentenceOf({ kind, name, count, value }: Problem): string {
  switch (kind) {
    case "alert":
      return value === null
        ? words.problems.alertFailed(name)
        : words.problems.alertFires(name, value);
    case "dead_letters":
      return words.problems.deadLetters(count);
    case "rollback":
      return words.problems.rollback(name);
    case "guarded_release":
      return words.problems.guardedRelease(name);
    case "scheduled_change":
      return words.problems.scheduledChange(name);
    case "webhook":
      return words.problems.webhook(name, count);
    case "cohort":
      return words.problems.cohort(name || words.problems.unnamed);
    case "batch_export":
      return words.problems.batchExport(name);
    case "backup":
      return words.problems.backup;
  }
}

function ProblemLink({ problem, children }: { problem: Problem; children: ReactNode }) {
  const projectId = useProjectId();
  const id = String(problem.item_id ?? "");
  switch (problem.kind) {
    case "backup":
      return (
        <>
          <p>{children}</p>
          <p className="text-ink-2 text-sm">{words.problems.backupAdvice}</p>
        </>
      );
    case "dead_letters":
      return (
        <Link to="/project/$projectId/ingestion" params={{ projectId }} className={LINK}>
          {children}
        </Link>
      );
    case "webhook":
      return (
        <Link
          to="/project/$projectId/settings"
          params={{ projectId }}
          search={{ tab: "webhooks" }}
          className={LINK}
        >
          {children}
        </Link>
      );
    case "alert":
      return (
        <Link
          to="/project/$projectId/insights/$insightId"
          params={{ projectId, insightId: id }}
          search={{ tab: "alerts", ...(problem.alert_id !== null && { alert: problem.alert_id }) }}
          className={LINK}
        >
          {children}
        </Link>
      );
    case "batch_export":
      return (
        <Link to="/project/$projectId/exports" params={{ projectId }} className={LINK}>
          {children}
        </Link>
      );
    case "cohort":
      return (
        <Link
          to="/project/$projectId/cohorts/$cohortId"
          params={{ projectId, cohortId: id }}
          className={LINK}
        >
          {children}
        </Link>
      );
    default:
      return (
        <Link
          to="/project/$projectId/flags/$flagId"
          params={{ projectId, flagId: id }}
          className={LINK}
        >
          {children}
        </Link>
      );
  }
}
