import { useQuery } from "@tanstack/react-query";
import { Plus, Webhook as WebhookIcon } from "lucide-react";
import { useMemo, useState } from "react";
import { useIsAdmin, useProjectId } from "@/app/session";
import { Notice } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { Empty, Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/settings";
import { type Webhook, webhooksQuery } from "../queries";
import { SecretDialog } from "../SecretDialog";
import { Deliveries } from "./Deliveries";
import { WebhookActions, WebhookSwitch } from "./WebhookActions";
import { WebhookDialog } from "./WebhookDialog";

const T = words.webhooks;

/** The dialog that is open. "new": a webhook that is being created. */
type Open = { edited: Webhook | "new" } | { deliveriesOf: Webhook } | null;

/** Only administrators may see them: an address may hold a secret of its receiver. */
export function WebhooksTab() {
  return useIsAdmin() ? <Webhooks /> : <Notice>{words.onlyAdmins}</Notice>;
}

function Webhooks() {
  const webhooks = useQuery(webhooksQuery(useProjectId()));
  const [open, setOpen] = useState<Open>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const columns = useColumns(setOpen, setSecret);
  const close = () => setOpen(null);
  return (
    <Card
      isFlush
      title={T.label}
      description={T.emptyHint}
      actions={
        <Button look="primary" icon={Plus} onClick={() => setOpen({ edited: "new" })}>
          {T.create}
        </Button>
      }
    >
      <Loaded query={webhooks}>
        {(rows) => (
          <DataTable
            name="webhooks"
            label={T.label}
            columns={columns}
            rows={rows}
            rowId={(webhook) => String(webhook.id)}
            empty={<Empty icon={WebhookIcon} title={T.empty} />}
          />
        )}
      </Loaded>
      {open && "edited" in open && (
        <WebhookDialog
          webhook={open.edited === "new" ? null : open.edited}
          onClose={close}
          onSecret={setSecret}
        />
      )}
      {open && "deliveriesOf" in open && <Deliveries webhook={open.deliveriesOf} onClose={close} />}
      <SecretDialog
        title={T.secretTitle}
        description={`${T.secretHint} ${T.rotated}`}
        secret={secret}
        what={T.secret}
        done={T.done}
        onClose={() => setSecret(null)}
      />
    </Card>
  );
}

const eventsOf = (webhook: Webhook): string =>
  webhook.events.length === 0 ? T.allEvents : webhook.events.join(", ");

function useColumns(
  onOpen: (open: Open) => void,
  onSecret: (secret: string) => void,
): readonly Column<Webhook>[] {
  return useMemo(
    () => [
      {
        id: "url",
        header: T.url,
        grow: true,
        fixed: true,
        sortable: true,
        text: (webhook) => webhook.url,
        cell: (webhook) => <bdi>{webhook.url}</bdi>,
      },
      { id: "events", header: T.events, grow: true, wrap: true, text: eventsOf, cell: eventsOf },
      {
        id: "created",
        header: words.created,
        width: 140,
        sortable: true,
        text: (webhook) => new Date(webhook.created_at),
        cell: (webhook) => <Time at={webhook.created_at} />,
      },
      {
        id: "active",
        header: T.active,
        width: 90,
        text: (webhook) => webhook.active,
        cell: (webhook) => <WebhookSwitch webhook={webhook} />,
      },
      {
        id: "actions",
        header: words.actions,
        width: 170,
        text: () => null,
        cell: (webhook) => (
          <span className="inline-flex gap-1">
            <Button small onClick={() => onOpen({ deliveriesOf: webhook })}>
              {T.deliveries}
            </Button>
            <WebhookActions
              webhook={webhook}
              onEdit={() => onOpen({ edited: webhook })}
              onSecret={onSecret}
            />
          </span>
        ),
      },
    ],
    [onOpen, onSecret],
  );
}
