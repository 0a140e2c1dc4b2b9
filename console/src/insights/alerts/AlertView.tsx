import { useQuery } from "@tanstack/react-query";
import { Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { authorsQuery } from "@/activity";
import { preflightQuery, useCanEdit, useIsAdmin, useProjectId } from "@/app/session";
import { webhooksQuery } from "@/settings";
import { Button, IconButton } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { Menu, MenuItem } from "@/ui/Menu";
import { Card, Facts } from "@/ui/Page";
import { SafeText, Visible } from "@/ui/properties";
import { Loaded, Skeleton } from "@/ui/States";
import { Time } from "@/ui/Time";
import { toast } from "@/ui/Toast";
import { words } from "@/words/alerts";
import { AlertChart } from "./AlertChart";
import { AlertSwitch } from "./AlertSwitch";
import { CheckTable } from "./CheckTable";
import { StateBadge, stateOf, valueText } from "./columns";
import { type Alert, previewQuery, useAlertDeletion } from "./queries";
import { Snooze } from "./Snooze";
import { Webhooks } from "./Webhooks";

interface Props {
  alert: Alert;
  onEdit: () => void;
  onGone: () => void;
}

/** An alert: its state, its numbers with the threshold, and its history. */
export function AlertView({ alert, onEdit, onGone }: Props) {
  const { insight, condition, threshold, series_index, breakdown_value } = alert;
  const rule = { insight, condition, threshold, series_index, breakdown_value };
  const preview = useQuery(previewQuery(useProjectId(), rule));
  const canEdit = useCanEdit();
  const isToldPending = useIsToldPending();
  if (isToldPending) return <Skeleton rows={12} />;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Card
        title={
          <span className="flex min-w-0 flex-wrap items-center gap-2">
            <Visible text={alert.name} />
            <StateBadge state={stateOf(alert)} />
          </span>
        }
        actions={canEdit && <Actions alert={alert} onEdit={onEdit} onGone={onGone} />}
      >
        <AlertFacts alert={alert} />
      </Card>
      <Card title={words.preview}>
        <Loaded query={preview} rows={6}>
          {(found) => <AlertChart preview={found} />}
        </Loaded>
      </Card>
      <CheckTable alert={alert} />
    </div>
  );
}

/** Whether it is not known yet whom the alert notifies, which decides how many lines that takes. */
function useIsToldPending(): boolean {
  const webhooks = useQuery({ ...webhooksQuery(useProjectId()), enabled: useIsAdmin() });
  const authors = useQuery(authorsQuery);
  const preflight = useQuery(preflightQuery);
  return webhooks.isLoading || authors.isPending || preflight.isPending;
}

function AlertFacts({ alert }: { alert: Alert }) {
  const { created_by: by, next_check_at: next, snoozed_until: until } = alert;
  return (
    <Facts
      facts={[
        [
          words.schedule,
          <span key="schedule">
            {words.every(alert.check_every_s)}
            {next !== null && (
              <>
                , {words.next} <Time at={next} />
              </>
            )}
          </span>,
        ],
        ...(until === null
          ? []
          : [[words.snoozedUntil, <Time key="snoozed" at={until} />] as const]),
        [words.lastCheck, <Time key="last" at={alert.last_checked_at} />],
        ...(alert.error === null
          ? [[words.lastValue, valueText(alert.value) || "–"] as const]
          : [[words.lastError, <SafeText key="error" text={alert.error} />] as const]),
        [words.told, <Webhooks key="webhooks" />],
        [words.mailTo, <Subscribers key="mails" ids={alert.subscribed_users} />],
        ...(by === null
          ? []
          : [[words.by, <Visible key="by" text={by.first_name || by.email} />] as const]),
      ]}
    />
  );
}

function Subscribers({ ids }: { ids: readonly number[] }) {
  const members = useQuery(authorsQuery).data ?? [];
  const canMail = useQuery(preflightQuery).data?.email_service_available;
  const names = members
    .filter(({ id }) => ids.includes(id))
    .map(({ first_name, email }) => first_name || email);
  return (
    <>
      <Visible text={names.length === 0 ? words.nobody : names.join(", ")} />
      {canMail === false && <p className="text-ink-3 text-sm">{words.noMail}</p>}
    </>
  );
}

function Actions({ alert, onEdit, onGone }: Props) {
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
      <AlertSwitch alert={alert} />
      {alert.enabled && <Snooze alert={alert} />}
      <Button icon={Pencil} onClick={onEdit}>
        {words.edit}
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label={words.more} look="default" />}>
        <MenuItem icon={Trash2} isDanger onSelect={() => setDeleting(true)}>
          {words.remove}
        </MenuItem>
      </Menu>
      {isDeleting && (
        <DeleteDialog alert={alert} onClose={() => setDeleting(false)} onGone={onGone} />
      )}
    </>
  );
}

interface DeleteProps {
  alert: Alert;
  onClose: () => void;
  onGone: () => void;
}

function DeleteDialog({ alert, onClose, onGone }: DeleteProps) {
  const deletion = useAlertDeletion(alert.id);
  const done = () => {
    toast({ text: words.removed(alert.name) });
    onClose();
    onGone();
  };
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={words.removeTitle}
      description={words.removeHint}
      submit={words.remove}
      onSubmit={() => deletion.mutate(undefined, { onSuccess: done })}
      isBusy={deletion.isPending}
      error={deletion.error}
    >
      <Visible text={alert.name} />
    </FormDialog>
  );
}
