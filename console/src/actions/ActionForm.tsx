import { Plus } from "lucide-react";
import { useCanEdit } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { useStableKeys } from "@/lib/hooks";
import { NamedItemForm, type NamedItemFormProps } from "@/namedItems";
import { Button } from "@/ui/Button";
import { words } from "@/words/actions";
import { type ActionDraft, isCompleteDraft, NEW_STEP } from "./draft";
import { StepFields } from "./StepFields";

const STEPS_MAX = 20;
const FIELDS = ["event", "url", "text", "href", "selector", "tag_name"];

type Props = NamedItemFormProps<ActionDraft>;

/** The fields of an action. */
export function ActionForm(props: Props) {
  const { draft } = props;
  return (
    <NamedItemForm
      {...props}
      words={words}
      isComplete={isCompleteDraft(draft)}
      isErrorInside={(error) => isOfStep(error, draft.steps.length)}
    >
      <Steps {...props} />
    </NamedItemForm>
  );
}

function Steps({ draft, onChange, error }: Pick<Props, "draft" | "onChange" | "error">) {
  const canEdit = useCanEdit();
  const keys = useStableKeys(draft.steps.length);
  return (
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
  );
}

/** Return whether the error stands beside a field of a step. */
function isOfStep(error: Error, steps: number): boolean {
  const places = Array.from({ length: steps }, (_, place) => `steps__${place}`);
  const attrs = places.flatMap((at) => [at, ...FIELDS.map((field) => `${at}__${field}`)]);
  return attrs.some((attr) => errorOf(error, attr) !== undefined);
}
