import { useState } from "react";
import { ApiError, errorOf, placeOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { Disclosure } from "@/ui/Disclosure";
import { TextField } from "@/ui/Field";
import { RadioList } from "@/ui/RadioList";
import { SelectField } from "@/ui/Select";
import { toast } from "@/ui/Toast";
import { words } from "@/words/guardedRelease";
import { conditionsOf } from "../conditions";
import type { Flag } from "../model";
import { changesOf, type Draft, defaultSteps, draftOf, newDraft, releaseOf } from "./draft";
import { GuardrailFields } from "./GuardrailFields";
import { changeRelease, type Release, startRelease, useReleaseChange } from "./queries";
import { formerOf } from "./release";
import { StepFields } from "./StepFields";

const TEXTS = words.dialog;

interface Props {
  flag: Flag;
  /** The release to change; null: a new one is started. */
  release: Release | null;
  onClose: () => void;
}

/** Starts a guarded release, or changes what is to come of one. */
export function ReleaseDialog({ flag, release, onClose }: Props) {
  const conditions = conditionsOf(flag);
  const [draft, setDraft] = useState<Draft>(() =>
    release === null ? newDraft(conditions[0]?.share ?? 0) : draftOf(release),
  );
  const shareNow = conditions[draft.condition]?.share ?? 0;
  const before = release === null ? shareNow : formerOf(release) % 100;
  const sent = release === null ? releaseOf(draft, before) : changesOf(draft, before);
  const send = useReleaseChange(flag.id, (projectId, asked: Draft) => {
    if (release !== null) return changeRelease(flag.id)(projectId, changesOf(asked, before) ?? {});
    const body = releaseOf(asked, before);
    if (body === null) throw new Error(TEXTS.rising);
    return startRelease(flag.id)(projectId, body);
  });
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const submit = () =>
    send.mutate(draft, {
      onSuccess: () => {
        onClose();
        toast({ text: release === null ? words.done.started : words.done.changed });
      },
    });
  return (
    <FormDialog
      isOpen
      wide
      onClose={onClose}
      title={release === null ? TEXTS.title : TEXTS.changeTitle}
      description={release === null ? TEXTS.about : undefined}
      submit={release === null ? TEXTS.submit : TEXTS.save}
      canSubmit={sent !== null}
      isBusy={send.isPending}
      error={isPlaced(send.error) ? null : send.error}
      onSubmit={submit}
    >
      {release === null && conditions.length > 1 && (
        <SelectField
          label={TEXTS.condition}
          error={errorOf(send.error, "condition_index")}
          value={String(draft.condition)}
          options={conditions.map(({ sentence }, place) => ({
            value: String(place),
            label: TEXTS.conditionName(place + 1, sentence),
          }))}
          onChange={(place) => {
            const share = conditions[Number(place)]?.share ?? 0;
            change({ condition: Number(place), steps: defaultSteps(share) });
          }}
        />
      )}
      <StepFields
        steps={draft.steps}
        shareNow={shareNow}
        before={before}
        passed={release?.step ?? 0}
        isFixed={release !== null}
        error={send.error}
        onChange={(steps) => change({ steps })}
      />
      {release === null && (
        <GuardrailFields
          guardrails={draft.guardrails}
          error={send.error}
          onChange={(guardrails) => change({ guardrails })}
        />
      )}
      <Options
        draft={draft}
        former={release === null ? shareNow : formerOf(release)}
        error={send.error}
        onChange={change}
      />
    </FormDialog>
  );
}

/** Whether an error is shown at its field. */
const isPlaced = (error: unknown): boolean =>
  placeOf(error, "steps") !== undefined ||
  placeOf(error, "metrics") !== undefined ||
  (error instanceof ApiError && ["minimum_exposures"].includes(error.attr ?? ""));

interface OptionsProps {
  draft: Draft;
  former: number;
  error: unknown;
  onChange: (changes: Partial<Draft>) => void;
}

function Options({ draft, former, error, onChange }: OptionsProps) {
  const { regressions, regressionHints: hints, tooFew, tooFewHints } = TEXTS;
  return (
    <>
      <RadioList
        label={TEXTS.onRegression}
        value={draft.onRegression}
        options={[
          { value: "rollback", label: regressions.rollback(former), hint: hints.rollback },
          { value: "pause", label: regressions.pause, hint: hints.pause },
          { value: "notify", label: regressions.notify, hint: hints.notify },
        ]}
        onChange={(onRegression) => onChange({ onRegression })}
      />
      <Disclosure summary={TEXTS.options}>
        <div className="flex flex-col gap-3 pt-1">
          <TextField
            type="number"
            min={1}
            label={TEXTS.people}
            hint={TEXTS.peopleHint}
            error={errorOf(error, "minimum_exposures")}
            value={draft.people ?? ""}
            onChange={({ target }) =>
              onChange({ people: target.value === "" ? null : target.valueAsNumber })
            }
            className="sm:w-60"
          />
          <RadioList
            label={TEXTS.onTooFew}
            value={draft.onTooFew}
            options={[
              { value: "hold", label: tooFew.hold, hint: tooFewHints.hold },
              { value: "continue", label: tooFew.continue, hint: tooFewHints.continue },
            ]}
            onChange={(onTooFew) => onChange({ onTooFew })}
          />
        </div>
      </Disclosure>
    </>
  );
}
