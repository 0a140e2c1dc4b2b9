import { useState } from "react";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { Checkbox, TextField } from "@/ui/Field";
import { words } from "@/words/settings";
import type { Webhook } from "../queries";
import {
  useWebhookChange,
  useWebhookCreation,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from "./webhooks";

const T = words.webhooks;

interface WebhookDialogProps {
  /** null: a new one */
  webhook: Webhook | null;
  onClose: () => void;
  onSecret: (secret: string) => void;
}

export function WebhookDialog({ webhook, onClose, onSecret }: WebhookDialogProps) {
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [events, setEvents] = useState<readonly WebhookEvent[]>(webhook?.events ?? []);
  const creation = useWebhookCreation();
  const change = useWebhookChange(webhook?.id ?? 0);
  const used = webhook === null ? creation : change;
  const save = () => {
    const body = { url: url.trim(), events: [...events] };
    used.mutate(body, {
      onSuccess: (saved) => {
        onClose();
        if (webhook === null) onSecret(saved.secret ?? "");
      },
    });
  };
  const ofField = errorOf(used.error, "url");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={webhook === null ? T.create : T.edit}
      submit={words.save}
      onSubmit={save}
      isBusy={used.isPending}
      canSubmit={url.trim() !== ""}
      error={ofField ? undefined : used.error}
    >
      <TextField
        label={T.url}
        hint={T.urlHint}
        type="url"
        required
        placeholder="https://example.com/hook"
        value={url}
        onChange={(event) => setUrl(event.target.value)}
        error={ofField}
      />
      <fieldset className="flex flex-col gap-1.5">
        <legend className="mb-1 font-medium">{T.events}</legend>
        <p className="text-ink-3 text-sm">{T.eventsHint}</p>
        {WEBHOOK_EVENTS.map((name) => (
          <Checkbox
            key={name}
            label={<code>{name}</code>}
            checked={events.includes(name)}
            onChange={(isChosen) =>
              setEvents(isChosen ? [...events, name] : events.filter((one) => one !== name))
            }
          />
        ))}
      </fieldset>
    </FormDialog>
  );
}
