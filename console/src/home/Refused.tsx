import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { Examples, type Report, reasonName, reportQuery } from "@/ingestion";
import { Card, LINK } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { formatNumber } from "@/words/format";
import { words } from "@/words/home";

const EVERY_MS = 2000;
const LAST_DAY = { from: "-24h" };

/** What arrived and was not stored, with the reason, for users whose event does not appear.
 *
 * hasArrived: whether an event has arrived, so that only rejected ones are shown
 */
export function Refused({ hasArrived }: { hasArrived: boolean }) {
  const projectId = useProjectId();
  const report = useQuery(reportQuery(projectId, LAST_DAY, "UTC", EVERY_MS));
  if (hasArrived && (report.data?.reasons ?? []).length === 0) return null;
  return (
    <Card
      title={hasArrived ? words.refused.others : words.refused.title}
      description={words.refused.hint}
      actions={
        <Link
          to="/project/$projectId/ingestion"
          params={{ projectId }}
          search={LAST_DAY}
          className={LINK}
        >
          {words.refused.more}
        </Link>
      }
    >
      <Loaded query={report} rows={2}>
        {(found) => <Reasons report={found} />}
      </Loaded>
    </Card>
  );
}

function Reasons({ report }: { report: Report }) {
  const waiting = report.waiting?.requests ?? 0;
  const stored = report.totals.stored ?? 0;
  return (
    <div className="flex flex-col gap-3">
      {stored > 0 && <p>{words.refused.stored(stored)}</p>}
      {waiting > 0 && <p>{words.refused.waits(waiting)}</p>}
      {report.reasons.map((one) => (
        <section key={one.reason} aria-label={reasonName(one.reason)}>
          <h3 className="font-medium">
            {reasonName(one.reason)}{" "}
            <span className="font-normal text-ink-2 tabular-nums">{formatNumber(one.items)}</span>
          </h3>
          <p className="text-ink-2">{one.meaning}</p>
          {one.examples.length > 0 && (
            <Examples label={reasonName(one.reason)} examples={one.examples.slice(0, 3)} />
          )}
        </section>
      ))}
      {report.reasons.length === 0 && waiting === 0 && stored === 0 && (
        <>
          <p>{words.refused.none}</p>
          <ul className="list-disc pl-5">
            {words.refused.causes.map((cause) => (
              <li key={cause}>{cause}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
