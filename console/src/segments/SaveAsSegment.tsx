import { useState } from "react";
import type { PropertyFilter } from "@/filters";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { toast } from "@/ui/Toast";
import { words } from "@/words/segments";
import { NEW_SEGMENT } from "./draft";
import { useSegmentCreation } from "./useSegmentChange";

export interface SaveAsSegmentProps {
  filters: readonly PropertyFilter[];
  /** Gets the condition that names the new segment. */
  onSaved: (filter: PropertyFilter) => void;
  onClose: () => void;
}

/** Asks for the name under which conditions are saved as a segment. */
export function SaveAsSegment({ filters, onSaved, onClose }: SaveAsSegmentProps) {
  const [name, setName] = useState("");
  const creation = useSegmentCreation();
  const save = () =>
    creation.mutate(
      { ...NEW_SEGMENT, name, filters },
      {
        onSuccess: (segment) => {
          toast({ text: words.created(segment.name) });
          onSaved({ type: "segment", key: "id", operator: "in", value: segment.id });
          onClose();
        },
      },
    );
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.saveAs}
      description={words.saveAsHint}
      submit={words.submit}
      canSubmit={name.trim() !== ""}
      isBusy={creation.isPending}
      error={errorOf(creation.error, "name") ? undefined : creation.error}
      onSubmit={save}
    >
      <TextField
        label={words.name}
        value={name}
        error={errorOf(creation.error, "name")}
        onChange={({ target }) => setName(target.value)}
      />
    </FormDialog>
  );
}
