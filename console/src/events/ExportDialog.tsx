import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { send } from "@/lib/api";
import { prefix } from "@/lib/prefix";
import { DateTimeInput } from "@/ui/DateTimeInput";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { toast } from "@/ui/Toast";
import { words as EVENTS } from "@/words/events";

const words = EVENTS.exporting;
// A Parquet file has only a part of many events: the command writes all of them.
const FORMATS = ["csv", "jsonl"] as const;
const WEEK_MS = 7 * 24 * 3600 * 1000;

interface ExportDialogProps {
  projectId: string;
  onClose: () => void;
}

/** Asks which events to save as a file, which the browser then writes while the server sends it. */
export function ExportDialog({ projectId, onClose }: ExportDialogProps) {
  const [start, setStart] = useState<string | null>(weekAgo);
  const [end, setEnd] = useState<string | null>(null);
  const [event, setEvent] = useState("");
  const [format, setFormat] = useState<(typeof FORMATS)[number]>("csv");
  const save = useMutation({
    mutationFn: () => startDownload(addressOf(projectId, { start, end, event, format })),
    onSuccess: () => {
      toast({ text: words.started });
      onClose();
    },
  });
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.title}
      description={words.description}
      submit={words.action}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
    >
      <DateTimeInput label={words.start} value={start} onChange={setStart} />
      <DateTimeInput label={words.end} value={end} onChange={setEnd} />
      <TextField
        label={words.event}
        hint={words.eventHint}
        value={event}
        onChange={(change) => setEvent(change.target.value)}
      />
      <SelectField
        label={words.format}
        value={format}
        options={FORMATS.map((value) => ({ value, label: words.formats[value] }))}
        onChange={setFormat}
      />
    </FormDialog>
  );
}

const weekAgo = () => new Date(Date.now() - WEEK_MS).toISOString();

interface Chosen {
  start: string | null;
  end: string | null;
  event: string;
  format: string;
}

function addressOf(projectId: string, { start, end, event, format }: Chosen): string {
  const chosen = { format, start_at: start, end_at: end, event: event.trim() };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(chosen)) if (value) query.set(name, value);
  return `${prefix}/api/projects/${projectId}/events/export/?${query}`;
}

/** Let the browser save the file while the server sends it: it may be larger than the memory. */
async function startDownload(address: string): Promise<void> {
  // An error would be saved as the file.
  await send(new Request(`${location.origin}${address}`, { method: "HEAD" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}
