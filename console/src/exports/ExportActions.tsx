import { CalendarClock, Ellipsis, Pause, Pencil, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { errorOf } from "@/lib/errors";
import { IconButton } from "@/ui/Button";
import { DateTimeInput } from "@/ui/DateTimeInput";
import { FormDialog } from "@/ui/Dialog";
import { Checkbox } from "@/ui/Field";
import { Menu, MenuItem } from "@/ui/Menu";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/exports";
import { type BatchExport, useBackfill, useExportDeletion, usePause, useUnpause } from "./queries";

interface Props {
  export: BatchExport;
  onEdit: () => void;
}

interface DialogProps {
  id: number;
  name: string;
  onClose: () => void;
}

const DIALOGS = { unpause: UnpauseDialog, backfill: BackfillDialog, delete: DeleteDialog };

export function ExportActions({ export: one, onEdit }: Props) {
  const [open, setOpen] = useState<keyof typeof DIALOGS | null>(null);
  const pausing = usePause(one.id);
  const pause = () =>
    pausing.mutate(undefined, {
      onSuccess: () => toast({ text: words.paused }),
      onError: toastError,
    });
  const Opened = open && DIALOGS[open];
  return (
    <>
      <Menu trigger={<IconButton icon={Ellipsis} label={words.moreOf(one.name)} />}>
        <MenuItem icon={Pencil} onSelect={onEdit}>
          {words.edit}
        </MenuItem>
        {one.paused ? (
          <MenuItem icon={Play} onSelect={() => setOpen("unpause")}>
            {words.unpause}
          </MenuItem>
        ) : (
          <MenuItem icon={Pause} onSelect={pause}>
            {words.pause}
          </MenuItem>
        )}
        <MenuItem icon={CalendarClock} onSelect={() => setOpen("backfill")}>
          {words.backfill}
        </MenuItem>
        <MenuItem icon={Trash2} isDanger onSelect={() => setOpen("delete")}>
          {words.delete}
        </MenuItem>
      </Menu>
      {Opened && <Opened id={one.id} name={one.name} onClose={() => setOpen(null)} />}
    </>
  );
}

function UnpauseDialog({ id, onClose }: DialogProps) {
  const [backfill, setBackfill] = useState(true);
  const unpausing = useUnpause(id);
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.unpauseTitle}
      submit={words.unpause}
      isBusy={unpausing.isPending}
      error={unpausing.error}
      onSubmit={() => unpausing.mutate(backfill, { onSuccess: done(words.unpaused, onClose) })}
    >
      <Checkbox label={words.unpauseBackfill} checked={backfill} onChange={setBackfill} />
    </FormDialog>
  );
}

function BackfillDialog({ id, onClose }: DialogProps) {
  const [start, setStart] = useState<string | null>(null);
  const [isSent, setSent] = useState(false);
  const backfill = useBackfill(id);
  const missing = isSent && start === null ? words.backfillMissing : undefined;
  const ofField = errorOf(backfill.error, "start_at");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.backfillTitle}
      description={words.backfillHint}
      submit={words.backfill}
      isBusy={backfill.isPending}
      error={ofField ? undefined : backfill.error}
      onSubmit={() => {
        setSent(true);
        if (start !== null) backfill.mutate(start, { onSuccess: done(words.backfilled, onClose) });
      }}
    >
      <DateTimeInput
        label={words.backfillFrom}
        zone="UTC"
        value={start}
        onChange={setStart}
        error={ofField ?? missing}
      />
    </FormDialog>
  );
}

function DeleteDialog({ id, name, onClose }: DialogProps) {
  const deletion = useExportDeletion(id);
  return (
    <FormDialog
      isOpen
      isDanger
      onClose={onClose}
      title={words.deleteTitle}
      description={words.deleteHint}
      submit={words.delete}
      isBusy={deletion.isPending}
      error={deletion.error}
      onSubmit={() => deletion.mutate(undefined, { onSuccess: done(words.deleted, onClose) })}
    >
      <bdi>{name}</bdi>
    </FormDialog>
  );
}

const done = (text: string, onClose: () => void) => () => {
  toast({ text });
  onClose();
};
