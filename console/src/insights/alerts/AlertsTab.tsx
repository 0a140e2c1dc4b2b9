import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { AlarmClock, Plus } from "lucide-react";
import { useMemo } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { Card, LINK } from "@/ui/Page";
import { Empty, Loaded } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/alerts";
import { type AlertFields, AlertForm } from "./AlertForm";
import { AlertSwitch } from "./AlertSwitch";
import { AlertView } from "./AlertView";
import { COLUMNS } from "./columns";
import { type Alert, alertsQuery, hrefOfAlert, useAlertChange, useAlertCreation } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/insights/$insightId");

interface Props {
  insightId: number;
  /** The name that a new alert gets. */
  insightName: string;
}

/** The alerts of an insight. The address says which one is shown or edited. */
export function AlertsTab({ insightId, insightName }: Props) {
  const { alert, edit } = route.useSearch();
  const navigate = route.useNavigate();
  const projectId = useProjectId();
  const alerts = useQuery(alertsQuery(projectId));
  const show = (shown: number | undefined, isEdited?: true) =>
    void navigate({
      search: ({ alert: _, edit: __, ...others }) => ({
        ...others,
        ...(shown !== undefined && { alert: shown }),
        ...(isEdited && { edit: true }),
      }),
    });
  return (
    <Loaded query={alerts} rows={4}>
      {(all) => {
        if (alert === "new")
          return <NewAlert insightId={insightId} name={insightName} onDone={(id) => show(id)} />;
        if (alert === undefined) return <AlertList insightId={insightId} all={all} />;
        const shown = all.find(({ id, insight }) => id === alert && insight === insightId);
        return (
          <div className="flex min-w-0 flex-col gap-3">
            <Link
              to="/project/$projectId/insights/$insightId"
              params={{ projectId, insightId: String(insightId) }}
              search={{ tab: "alerts" }}
              className={`${LINK} self-start text-sm`}
            >
              {words.back}
            </Link>
            {shown === undefined ? (
              <p>{words.gone}</p>
            ) : edit ? (
              <EditedAlert alert={shown} onDone={() => show(shown.id)} />
            ) : (
              <AlertView
                alert={shown}
                onEdit={() => show(shown.id, true)}
                onGone={() => show(undefined)}
              />
            )}
          </div>
        );
      }}
    </Loaded>
  );
}

interface ListProps {
  insightId: number;
  /** The alerts of the project. */
  all: readonly Alert[];
}

function AlertList({ insightId, all }: ListProps) {
  const alerts = useMemo(
    () => all.filter(({ insight }) => insight === insightId),
    [all, insightId],
  );
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const canEdit = useCanEdit();
  const columns = useMemo(() => (canEdit ? [...COLUMNS, SWITCH] : COLUMNS), [canEdit]);
  const create = canEdit && (
    <Button
      look="primary"
      icon={Plus}
      onClick={() => void navigate({ search: (before) => ({ ...before, alert: "new" as const }) })}
    >
      {words.create}
    </Button>
  );
  if (alerts.length === 0)
    return (
      <Card>
        <Empty icon={AlarmClock} title={words.none}>
          <p>{words.noneHint}</p>
          {create}
        </Empty>
      </Card>
    );
  return (
    <Card isFlush title={words.title} description={words.description} actions={create}>
      <DataTable<Alert>
        name="insight.alerts"
        label={words.title}
        columns={columns}
        rows={alerts}
        rowId={({ id }) => String(id)}
        rowLabel={({ name }) => name}
        hrefOf={(alert) => hrefOfAlert(projectId, alert)}
        csv={{ fileName: words.csvName, all: () => alerts }}
      />
    </Card>
  );
}

const SWITCH: Column<Alert> = {
  id: "enabled",
  header: words.columns.enabled,
  width: 80,
  cell: (alert) => <AlertSwitch alert={alert} />,
  text: ({ enabled }) => enabled,
};

interface NewProps {
  insightId: number;
  name: string;
  /** undefined: it was not created */
  onDone: (id: number | undefined) => void;
}

function NewAlert({ insightId, name, onDone }: NewProps) {
  const creation = useAlertCreation();
  const fields: AlertFields = {
    name,
    condition: "above",
    threshold: "",
    series_index: 0,
    breakdown_value: null,
    subscribed_users: [],
  };
  return (
    <AlertForm
      title={words.create}
      insightId={insightId}
      fields={fields}
      submit={words.save}
      isBusy={creation.isPending}
      error={creation.error}
      onCancel={() => onDone(undefined)}
      onSave={(values) =>
        creation.mutate(
          { insight: insightId, ...values },
          {
            onSuccess: ({ id }) => {
              toast({ text: words.created });
              onDone(id);
            },
          },
        )
      }
    />
  );
}

function EditedAlert({ alert, onDone }: { alert: Alert; onDone: () => void }) {
  const change = useAlertChange(alert.id);
  return (
    <AlertForm
      title={words.editTitle}
      insightId={alert.insight}
      fields={{ ...alert, threshold: String(alert.threshold) }}
      submit={words.save}
      isBusy={change.isPending}
      error={change.error}
      onCancel={onDone}
      onSave={({ name, condition, threshold, series_index, breakdown_value, subscribed_users }) =>
        change.mutate(
          { name, condition, threshold, series_index, breakdown_value, subscribed_users },
          {
            onSuccess: () => {
              toast({ text: words.saved });
              onDone();
            },
          },
        )
      }
    />
  );
}
