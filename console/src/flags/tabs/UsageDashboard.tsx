import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useProjectId } from "@/app/session";
import { ApiError } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { Card, LINK } from "@/ui/Page";
import { ErrorNote, Loaded } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/flagUsage";
import type { Flag } from "../model";
import { flagKeys } from "../queries";
import { createDashboard, dashboardQuery, enrichDashboard } from "./usageQueries";

const TEXTS = words.dashboard;

/** The dashboard of the flag's use, which the server makes. */
export function UsageDashboard({ flag }: { flag: Flag }) {
  const { usage_dashboard: id } = flag;
  return (
    <Card title={TEXTS.title}>
      {id === null ? <Missing flag={flag} text={TEXTS.none} /> : <Existing flag={flag} id={id} />}
    </Card>
  );
}

function Existing({ flag, id }: { flag: Flag; id: number }) {
  const projectId = useProjectId();
  const dashboard = useQuery(dashboardQuery(projectId, id));
  const isGone = dashboard.error instanceof ApiError && dashboard.error.status === 404;
  if (isGone || dashboard.data?.deleted === true) return <Missing flag={flag} text={TEXTS.gone} />;
  return (
    <Loaded query={dashboard}>
      {({ name, tiles }) => (
        <div className="flex flex-col gap-2">
          <p>
            <Link
              to="/project/$projectId/dashboards/$dashboardId"
              params={{ projectId, dashboardId: String(id) }}
              className={LINK}
            >
              <bdi>{TEXTS.exists(name, tiles.length)}</bdi>
            </Link>
          </p>
          <ul className="list-disc pl-5 text-ink-2">
            {tiles.map((tile) => (
              <li key={tile.id}>
                <bdi>{tile.insight?.name ?? ""}</bdi>
              </li>
            ))}
          </ul>
          {flag.has_enriched_analytics && <Enrich flag={flag} />}
        </div>
      )}
    </Loaded>
  );
}

function Missing({ flag, text }: { flag: Flag; text: string }) {
  return (
    <div className="flex flex-col items-start gap-2">
      <p className="text-ink-2">{text}</p>
      <Act flag={flag} text={TEXTS.create} done={TEXTS.created} act={createDashboard} />
    </div>
  );
}

function Enrich({ flag }: { flag: Flag }) {
  return (
    <div className="flex flex-col items-start gap-2">
      <p className="text-ink-3 text-sm">{TEXTS.enrichHint}</p>
      <Act flag={flag} text={TEXTS.enrich} done={TEXTS.enriched} act={enrichDashboard} />
    </div>
  );
}

interface ActProps {
  flag: Flag;
  text: string;
  done: string;
  act: (projectId: string, flagId: number) => Promise<unknown>;
}

function Act({ flag, text, done, act }: ActProps) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const run = useMutation({
    mutationFn: () => act(projectId, flag.id),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: flagKeys.all(projectId) });
      await queries.invalidateQueries({ queryKey: ["dashboards", projectId] });
      toast({ text: done });
    },
  });
  return (
    <>
      <Button
        disabled={!flag.can_edit}
        isBusy={run.isPending}
        title={flag.can_edit ? undefined : TEXTS.viewer}
        onClick={() => run.mutate()}
      >
        {text}
      </Button>
      {run.error && <ErrorNote error={run.error} />}
    </>
  );
}
