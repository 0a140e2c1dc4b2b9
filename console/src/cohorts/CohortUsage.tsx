import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useProjectId } from "@/app/session";
import { Badge } from "@/ui/Badge";
import { Card, LINK } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { words } from "@/words/cohorts";
import { type Cohort, usersOfCohortsQuery } from "./queries";
import { usersOf } from "./usage";

const WORDS = words.usage;

/** Flags and other cohorts with a condition on this one. */
export function CohortUsage({ cohort }: { cohort: Cohort }) {
  const projectId = useProjectId();
  const all = useQuery(usersOfCohortsQuery(projectId));
  return (
    <Loaded query={all}>
      {(found) => {
        const { flags, cohorts } = usersOf(cohort.id, found);
        return (
          <div className="grid gap-4 md:grid-cols-2">
            <Users title={WORDS.flags} none={WORDS.noFlags}>
              {flags.map((flag) => (
                <li key={flag.id} className="flex items-center gap-2 py-1">
                  <Link
                    to="/project/$projectId/flags/$flagId"
                    params={{ projectId, flagId: String(flag.id) }}
                    className={LINK}
                  >
                    <Visible text={flag.key} />
                  </Link>
                  <Badge tone={flag.active ? "good" : "neutral"}>
                    {flag.active ? WORDS.on : WORDS.off}
                  </Badge>
                </li>
              ))}
            </Users>
            <Users title={WORDS.cohorts} none={WORDS.noCohorts}>
              {cohorts.map((one) => (
                <li key={one.id} className="py-1">
                  <Link
                    to="/project/$projectId/cohorts/$cohortId"
                    params={{ projectId, cohortId: String(one.id) }}
                    className={LINK}
                  >
                    <Visible text={one.name || words.untitled} />
                  </Link>
                </li>
              ))}
            </Users>
          </div>
        );
      }}
    </Loaded>
  );
}

interface UsersProps {
  title: string;
  none: string;
  children: ReactNode[];
}

function Users({ title, none, children }: UsersProps) {
  return (
    <Card title={title}>
      {children.length === 0 ? <p className="text-ink-2">{none}</p> : <ul>{children}</ul>}
    </Card>
  );
}
