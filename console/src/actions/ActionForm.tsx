import { Plus } from "lucide-react";
import type { FormEvent, ReactNode } from "react";
import { useCanEdit } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { useStableKeys } from "@/lib/hooks";
import { Button } from "@/ui/Button";
import { TextAreaField, TextField } from "@/ui/Field";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/actions";
import { type ActionDraft, isCompleteDraft, NEW_STEP } from "./draft";
import { StepFields } from "./StepFields";

const STEPS_MAX = 20;
const FIELDS = ["name", "description", "event", "url", "text", "href", "selector", "tag_name"];

interface Props {
  draft: ActionDraft;
  onChange: (draft: ActionDraft) => void;
  submitLabel: string;
  isBusy: boolean;
  isChanged: boolean;
  error: Error | null;
  onSubmit: () => void;
  children?: ReactNode;
}

/** The fields of an action. */
export function ActionForm(props: Props) {
  const { draft, onChange, error } = props;
  const canEdit = useCanEdit();
  const keys = useStableKeys(draft.steps.length);
  const isReady = canEdit && props.isChanged && isCompleteDraft(draft);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) props.onSubmit();
  };
  return (
    <form onSubmit={submit} className="flex min-w-0 max-w-3xl flex-col gap-5">
      <TextField
        label={words.name}
        value={draft.name}
        disabled={!canEdit}
        onChange={({ target }) => onChange({ ...draft, name: target.value })}
        error={errorOf(error, "name")}
      />
      <TextAreaField
        label={words.descriptionField}
        isOptional
        rows={2}
        value={draft.description}
        disabled={!canEdit}
        onChange={({ target }) => onChange({ ...draft, description: target.value })}
        error={errorOf(error, "description")}
      />
      <section className="flex min-w-0 flex-col gap-3" aria-label={words.steps}>
        <h2 className="font-medium">{words.steps}</h2>
        <p className="text-ink-2">{words.stepsHint}</p>
        <ol className="flex min-w-0 flex-col gap-3">
          {draft.steps.map((step, place) => (
            <StepFields
              key={keys.of(place)}
              step={step}
              number={place + 1}
              canRemove={draft.steps.length > 1}
              disabled={!canEdit}
              onChange={(next) => onChange({ ...draft, steps: draft.steps.with(place, next) })}
              onRemove={() => {
                keys.remove(place);
                onChange({ ...draft, steps: draft.steps.toSpliced(place, 1) });
              }}
              errorAt={(field) =>
                errorOf(error, field === "" ? `steps__${place}` : `steps__${place}__${field}`)
              }
            />
          ))}
        </ol>
        {draft.steps.length < STEPS_MAX && (
          <div>
            <Button
              small
              look="quiet"
              icon={Plus}
              disabled={!canEdit}
              onClick={() => onChange({ ...draft, steps: [...draft.steps, NEW_STEP] })}
            >
              {words.addStep}
            </Button>
          </div>
        )}
      </section>
      {error && !isOfField(error, draft.steps.length) && <ErrorNote error={error} />}
      <div className="flex flex-wrap gap-2">
        <Button
          type="submit"
          look="primary"
          isBusy={props.isBusy}
          disabled={!isReady}
          title={canEdit ? undefined : words.viewerHint}
        >
          {props.submitLabel}
        </Button>
        {props.children}
      </div>
    </form>
  );
}

/** Return whether the error stands beside a field. */
function isOfField(error: Error, steps: number): boolean {
  const places = Array.from({ length: steps }, (_, place) => `steps__${place}`);
  const attrs = places.flatMap((at) => [at, ...FIELDS.map((field) => `${at}__${field}`)]);
  return [...FIELDS, ...attrs].some((attr) => errorOf(error, attr) !== undefined);
}
