import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { Card, LINK } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { words } from "@/words/events";
import { usesQuery } from "./queries";

/** Cohorts and insights that would change with the event. */
export function EventUses({ event }: { event: string }) {
  const projectId = useProjectId();
  const uses = useQuery(usesQuery(projectId, event));
  return (
    <Card title={words.used.title}>
      <Loaded query={uses} rows={2}>
        {({ cohorts, insights }) =>
          cohorts.length + insights.length === 0 ? (
            <p className="text-ink-2">{words.used.none}</p>
          ) : (
            <div className="flex flex-col gap-3">
              {cohorts.length > 0 && (
                <section aria-label={words.used.cohorts}>
                  <h3 className="font-medium">{words.used.cohorts}</h3>
                  <ul>
                    {cohorts.map(({ id, name }) => (
                      <li key={id}>
                        <Link
                          to="/project/$projectId/cohorts/$cohortId"
                          params={{ projectId, cohortId: String(id) }}
                          className={LINK}
                        >
                          <Visible text={name || words.used.unnamed} />
                        </Link>
                      </li>
                    ))}
                  </ul>
                </section>
              )}
              {insights.length > 0 && (
                <section aria-label={words.used.insights}>
                  <h3 className="font-medium">{words.used.insights}</h3>
                  <ul>
                    {insights.map(({ id, name, derived_name: derived }) => (
                      <li key={id}>
                        <Visible text={name || derived || words.used.unnamed} />
                      </li>
                    ))}
                  </ul>
                </section>
              )}
            </div>
          )
        }
      </Loaded>
    </Card>
  );
}
