import { type ReactNode, useState } from "react";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/settings";

const T = words.kept;
const FOREVER = "";
const CHOICES: readonly number[] = [90, 365, 730, 1825];

interface Props {
  label: string;
  /** The days of now; null for ever. */
  kept: number | null;
  /** The field of the API. */
  field: string;
  disabled: boolean;
  save: { isPending: boolean; error: Error | null };
  /** The dialog that asks before a shorter time deletes something. */
  asking: { title: string; submit: string; about: (days: number) => ReactNode };
  onSave: (days: number | null, done: () => void) => void;
}

/** A choice of how long something is kept. A shorter time is confirmed, since it deletes. */
export function KeptDays({ label, kept, field, disabled, save, asking, onSave }: Props) {
  const [asked, setAsked] = useState<number | null>(null);
  const choices = kept === null || CHOICES.includes(kept) ? CHOICES : [kept, ...CHOICES];
  const close = () => setAsked(null);
  const choose = (value: string) => {
    const days = value === FOREVER ? null : Number(value);
    if (days === null || (kept !== null && days > kept)) onSave(days, close);
    else if (days !== kept) setAsked(days);
  };
  return (
    <>
      <SelectField
        label={label}
        disabled={disabled || save.isPending}
        value={kept === null ? FOREVER : String(kept)}
        options={[
          { value: FOREVER, label: T.forever },
          ...choices.map((days) => ({ value: String(days), label: T.days(days) })),
        ]}
        onChange={choose}
        error={asked === null ? errorOf(save.error, field) : undefined}
      />
      <FormDialog
        isOpen={asked !== null}
        isDanger
        onClose={close}
        title={asking.title}
        submit={asking.submit}
        onSubmit={() => onSave(asked, close)}
        isBusy={save.isPending}
        error={save.error}
      >
        {asked !== null && asking.about(asked)}
      </FormDialog>
    </>
  );
}
