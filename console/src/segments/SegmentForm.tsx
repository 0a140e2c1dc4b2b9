import type { FormEvent } from "react";
import { useCanEdit } from "@/app/session";
import { type FilterKind, PropertyFilterList } from "@/filters";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { TextAreaField, TextField } from "@/ui/Field";
import { Select } from "@/ui/Select";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/segments";
import { isCompleteDraft, KINDS, type SegmentDraft } from "./draft";

const CONDITIONS: readonly FilterKind[] = [
  ...(["event", "person", "group", "session"] as const),
  ...(["element", "cohort", "hogql"] as const),
];
const FIELDS = ["name", "description"];

interface Props {
  draft: SegmentDraft;
  onChange: (draft: SegmentDraft) => void;
  submitLabel: string;
  isBusy: boolean;
  isChanged: boolean;
  error: Error | null;
  onSubmit: () => void;
}

/** The fields of a segment. */
export function SegmentForm(props: Props) {
  const { draft, onChange, error } = props;
  const canEdit = useCanEdit();
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
      <Conditions draft={draft} onChange={onChange} canEdit={canEdit} />
      {error && FIELDS.every((attr) => errorOf(error, attr) === undefined) && (
        <ErrorNote error={error} />
      )}
      <div>
        <Button
          type="submit"
          look="primary"
          isBusy={props.isBusy}
          disabled={!isReady}
          title={canEdit ? undefined : words.viewerHint}
        >
          {props.submitLabel}
        </Button>
      </div>
    </form>
  );
}

interface ConditionsProps extends Pick<Props, "draft" | "onChange"> {
  canEdit: boolean;
}

function Conditions({ draft, onChange, canEdit }: ConditionsProps) {
  if (draft.nested !== undefined) return <p className="text-ink-2">{words.nested}</p>;
  return (
    <section className="flex min-w-0 flex-col gap-3" aria-label={words.conditions}>
      <h2 className="font-medium">{words.conditions}</h2>
      <div>
        <Select
          isSnug
          className="w-auto!"
          aria-label={words.match}
          value={draft.kind}
          options={KINDS.map((value) => ({ value, label: words.kinds[value] }))}
          disabled={!canEdit}
          onChange={(kind) => onChange({ ...draft, kind })}
        />
      </div>
      <PropertyFilterList
        label={words.conditions}
        filters={draft.filters}
        onChange={(filters) => onChange({ ...draft, filters })}
        use="query"
        allowed={CONDITIONS}
        disabled={!canEdit}
        {...(draft.kind === "OR" && { joint: words.or })}
      />
    </section>
  );
}
