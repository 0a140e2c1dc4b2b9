import { useState } from "react";
import { useProjectId } from "@/app/session";
import { eventOptions } from "@/events";
import { useSettled } from "@/lib/hooks";
import { Combobox } from "@/ui/combobox";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/flagRollout";
import { isConflict } from "../queries";
import { RollbackChart } from "./RollbackChart";
import { MATHS, OPERATORS, type Rollback, storedRollbacks, writeRollback } from "./rollback";

const TEXTS = words.rollback;

interface Props {
  /** null for a new one */
  initial: Rollback | null;
  isBusy: boolean;
  error: unknown;
  onClose: () => void;
  onSave: (condition: Rollback) => void;
}

interface Draft extends Omit<Rollback, "threshold"> {
  threshold: number | null;
}

const NEW: Draft = { event: null, math: "total", operator: "gt", threshold: null };

/** Edits one condition, drawn on its chart while it is edited. */
export function RollbackDialog({ initial, isBusy, error, onClose, onSave }: Props) {
  const [draft, setDraft] = useState<Draft>(initial ?? NEW);
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const condition = completeOf(draft);
  const shown = useSettled(condition);
  return (
    <FormDialog
      isOpen
      wide
      onClose={onClose}
      title={initial === null ? TEXTS.addTitle : TEXTS.editTitle}
      submit={TEXTS.submit}
      canSubmit={condition !== null}
      isBusy={isBusy}
      error={isConflict(error) ? new Error(TEXTS.conflict) : error}
      onSubmit={() => condition !== null && onSave(condition)}
    >
      <Combobox
        label={TEXTS.event}
        hint={TEXTS.eventHint}
        value={draft.event}
        onChange={(event) => change({ event })}
        options={eventOptions(useProjectId())}
        freeEntry
      />
      <div className="grid gap-3 sm:grid-cols-3">
        <SelectField
          label={TEXTS.math}
          value={draft.math}
          options={MATHS.map((value) => ({ value, label: TEXTS.maths[value] }))}
          onChange={(math) => change({ math })}
        />
        <SelectField
          label={TEXTS.operator}
          value={draft.operator}
          options={OPERATORS.map((value) => ({ value, label: TEXTS.operators[value] }))}
          onChange={(operator) => change({ operator })}
        />
        <TextField
          type="number"
          step="any"
          label={TEXTS.threshold}
          value={draft.threshold ?? ""}
          onChange={({ target }) =>
            change({ threshold: target.value === "" ? null : target.valueAsNumber })
          }
        />
      </div>
      {shown !== null && <Preview condition={shown} />}
    </FormDialog>
  );
}

function Preview({ condition }: { condition: Rollback }) {
  const [stored] = storedRollbacks([writeRollback(condition)]);
  if (stored?.metric == null) return null;
  return (
    <RollbackChart
      metric={stored.metric}
      what={condition.event ?? TEXTS.anyEvent}
      threshold={condition.threshold}
      isBelow={condition.operator === "lt"}
    />
  );
}

function completeOf(draft: Draft): Rollback | null {
  const { event, threshold } = draft;
  if (event === null || event === "" || threshold === null || !Number.isFinite(threshold)) {
    return null;
  }
  return { ...draft, event, threshold };
}
