import type { FormEvent, ReactNode } from "react";
import { useCanEdit } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { TextAreaField, TextField } from "@/ui/Field";
import { ErrorNote } from "@/ui/States";

interface Draft {
  name: string;
  description: string;
}

/** What a form for items of one kind gets. */
export interface NamedItemFormProps<T extends Draft> {
  draft: T;
  onChange: (draft: T) => void;
  submitLabel: string;
  isBusy: boolean;
  isChanged: boolean;
  error: Error | null;
  onSubmit: () => void;
}

interface Props<T extends Draft> extends NamedItemFormProps<T> {
  words: { name: string; descriptionField: string; viewerHint: string };
  isComplete: boolean;
  /** Whether the error stands beside a field among the children. */
  isErrorInside?: (error: Error) => boolean;
  /** The fields below name and description. */
  children: ReactNode;
}

/** A form with the name and the description of an item, and what else it has. */
export function NamedItemForm<T extends Draft>(props: Props<T>) {
  const { draft, onChange, error, words } = props;
  const canEdit = useCanEdit();
  const isReady = canEdit && props.isChanged && props.isComplete;
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
      {props.children}
      {error && !isBesideField(error, props.isErrorInside) && <ErrorNote error={error} />}
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

const isBesideField = (error: Error, isInside?: (error: Error) => boolean): boolean =>
  ["name", "description"].some((attr) => errorOf(error, attr) !== undefined) ||
  (isInside?.(error) ?? false);
