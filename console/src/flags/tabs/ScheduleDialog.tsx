import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useProject, useProjectId } from "@/app/session";
import { useNow } from "@/lib/hooks";
import { Button, IconButton } from "@/ui/Button";
import { DateTimeInput } from "@/ui/DateTimeInput";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { toast } from "@/ui/Toast";
import { words } from "@/words/flagRollout";
import { conditionsOf } from "../conditions";
import type { Flag } from "../model";
import { flagKeys } from "../queries";
import { type Draft, type DraftStep, nextStep, type Operation, scheduleOf } from "./schedule";
import { schedule } from "./scheduleQueries";

const TEXTS = words.dialog;
const STEPS_MAX = 50;
const OPERATIONS: readonly { value: Operation; label: string }[] = [
  { value: "share", label: TEXTS.operations.share },
  { value: "on", label: TEXTS.operations.on },
  { value: "off", label: TEXTS.operations.off },
];

/** Schedules one change, in one step or several. */
export function ScheduleDialog({ flag, onClose }: { flag: Flag; onClose: () => void }) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const now = useNow(5_000);
  const conditions = conditionsOf(flag);
  const [draft, setDraft] = useState<Draft>(() => ({
    operation: "share",
    condition: 0,
    steps: [nextStep([], conditions[0]?.share ?? 0, now)],
  }));
  const sent = scheduleOf(draft, flag, now);
  const send = useMutation({
    mutationFn: (change: NonNullable<typeof sent>) => schedule(projectId, flag.id, change),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: flagKeys.all(projectId) });
      onClose();
      toast({ text: words.schedule.scheduled });
    },
  });
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const isShare = draft.operation === "share";
  return (
    <FormDialog
      isOpen
      wide
      onClose={onClose}
      title={TEXTS.title}
      submit={TEXTS.submit}
      canSubmit={sent !== null}
      isBusy={send.isPending}
      error={send.error}
      onSubmit={() => sent !== null && send.mutate(sent)}
    >
      <SelectField
        label={TEXTS.what}
        value={draft.operation}
        options={OPERATIONS}
        onChange={(operation) => change({ operation })}
      />
      {isShare && conditions.length > 1 && (
        <SelectField
          label={TEXTS.condition}
          value={String(draft.condition)}
          options={conditions.map(({ sentence }, place) => ({
            value: String(place),
            label: TEXTS.conditionName(place + 1, sentence),
          }))}
          onChange={(place) => change({ condition: Number(place) })}
        />
      )}
      <Steps
        steps={isShare ? draft.steps : draft.steps.slice(0, 1)}
        hasShare={isShare}
        onChange={(steps) => change({ steps })}
      />
      {isShare && draft.steps.length < STEPS_MAX && (
        <div>
          <Button
            small
            icon={Plus}
            onClick={() =>
              change({
                steps: [
                  ...draft.steps,
                  nextStep(draft.steps, conditions[draft.condition]?.share ?? 0, now),
                ],
              })
            }
          >
            {TEXTS.addStep}
          </Button>
        </div>
      )}
      {sent === null && <p className="text-ink-3 text-sm">{TEXTS.incomplete}</p>}
    </FormDialog>
  );
}

interface StepsProps {
  steps: readonly DraftStep[];
  hasShare: boolean;
  onChange: (steps: readonly DraftStep[]) => void;
}

function Steps({ steps, hasShare, onChange }: StepsProps) {
  const zone = useProject()?.timezone;
  const change = (id: number, changes: Partial<DraftStep>) =>
    onChange(steps.map((one) => (one.id === id ? { ...one, ...changes } : one)));
  return (
    <ol className="flex flex-col gap-3">
      {steps.map((step, place) => (
        <li key={step.id} className="flex flex-wrap items-end gap-3">
          {hasShare && (
            <TextField
              type="number"
              min={0}
              max={100}
              step="any"
              label={TEXTS.shareOf(place + 1)}
              value={step.share ?? ""}
              onChange={({ target }) =>
                change(step.id, { share: target.value === "" ? null : target.valueAsNumber })
              }
              className="w-60"
            />
          )}
          <DateTimeInput
            label={TEXTS.atOf(place + 1)}
            value={step.at}
            onChange={(at) => change(step.id, { at })}
            {...(zone !== undefined && { zone })}
          />
          {steps.length > 1 && (
            <IconButton
              icon={Trash2}
              label={TEXTS.removeStep(place + 1)}
              onClick={() => onChange(steps.filter((one) => one.id !== step.id))}
            />
          )}
        </li>
      ))}
    </ol>
  );
}
