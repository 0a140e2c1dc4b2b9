import { useState } from "react";
import { ApiError, errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextAreaField, TextField } from "@/ui/Field";
import { words } from "@/words/insightsSaved";

export interface Details {
  name: string;
  description: string;
  tags: string[];
}

interface Props {
  title: string;
  details: Details;
  onClose: () => void;
  /** Saves the fields. Rejects with the server's error, which the dialog shows. */
  onSave: (details: Details) => Promise<unknown>;
  /** Fields that someone else changed in the meantime. */
  notice?: string | undefined;
}

const FIELDS = ["name", "description", "tags"];

/** Edits the name, description and tags of an insight. */
export function DetailsDialog({ title, details, onClose, onSave, notice }: Props) {
  const [name, setName] = useState(details.name);
  const [description, setDescription] = useState(details.description);
  const [tags, setTags] = useState(details.tags.join(", "));
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      await onSave({ name: name.trim(), description: description.trim(), tags: tagsOf(tags) });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const isOfField = error instanceof ApiError && FIELDS.includes(error.attr ?? "");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={title}
      submit={words.save}
      isBusy={isBusy}
      error={isOfField ? undefined : error}
      onSubmit={() => void submit()}
    >
      <TextField
        label={words.name}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={errorOf(error, "name")}
      />
      <TextAreaField
        label={words.descriptionField}
        isOptional
        value={description}
        onChange={(event) => setDescription(event.target.value)}
        error={errorOf(error, "description")}
      />
      <TextField
        label={words.tagsField}
        isOptional
        hint={words.tagsHint}
        value={tags}
        onChange={(event) => setTags(event.target.value)}
        error={errorOf(error, "tags")}
      />
      {notice && (
        <p role="alert" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          {notice}
        </p>
      )}
    </FormDialog>
  );
}

/** The server stores tags in lower case. */
const tagsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ""),
  ),
];
