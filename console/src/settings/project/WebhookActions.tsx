import { Ellipsis, KeyRound, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { IconButton } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { Switch } from "@/ui/Field";
import { Menu, MenuItem } from "@/ui/Menu";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/settings";
import type { Webhook } from "../queries";
import { useSecretRotation, useWebhookChange, useWebhookDeletion } from "./webhooks";

const T = words.webhooks;

export function WebhookSwitch({ webhook }: { webhook: Webhook }) {
  const change = useWebhookChange(webhook.id);
  return (
    <Switch
      label={T.activeOf(webhook.url)}
      isOn={change.isPending ? (change.variables.active ?? webhook.active) : webhook.active}
      onChange={(active) => change.mutate({ active }, { onError: toastError })}
    />
  );
}

interface WebhookActionsProps {
  webhook: Webhook;
  onEdit: () => void;
  onSecret: (secret: string) => void;
}

export function WebhookActions({ webhook, onEdit, onSecret }: WebhookActionsProps) {
  const [isDeleting, setDeleting] = useState(false);
  const rotation = useSecretRotation(webhook.id);
  const rotate = () =>
    rotation.mutate(undefined, {
      onSuccess: (changed) => onSecret(changed.secret ?? ""),
      onError: toastError,
    });
  return (
    <>
      <Menu trigger={<IconButton icon={Ellipsis} label={T.more} />}>
        <MenuItem icon={Pencil} onSelect={onEdit}>
          {T.edit}
        </MenuItem>
        <MenuItem icon={KeyRound} onSelect={rotate}>
          {T.rotate}
        </MenuItem>
        <MenuItem icon={Trash2} isDanger onSelect={() => setDeleting(true)}>
          {words.delete}
        </MenuItem>
      </Menu>
      {isDeleting && <DeleteDialog webhook={webhook} onClose={() => setDeleting(false)} />}
    </>
  );
}

function DeleteDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const deletion = useWebhookDeletion(webhook.id);
  const done = () => {
    toast({ text: T.deleted });
    onClose();
  };
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={T.deleteTitle}
      description={T.deleteHint}
      submit={words.delete}
      onSubmit={() => deletion.mutate(undefined, { onSuccess: done })}
      isBusy={deletion.isPending}
      error={deletion.error}
    >
      <bdi>{webhook.url}</bdi>
    </FormDialog>
  );
}
