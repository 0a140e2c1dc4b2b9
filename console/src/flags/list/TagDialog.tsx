import { useState } from "react";
import { Combobox } from "@/ui/combobox";
import { FormDialog } from "@/ui/Dialog";
import { words } from "@/words/flagList";

const TEXTS = words.bulk;

interface Props {
  isAdding: boolean;
  /** The number of flags. */
  count: number;
  options: readonly string[];
  onClose: () => void;
  onSubmit: (tags: readonly string[]) => void;
}

export function TagDialog({ isAdding, count, options, onClose, onSubmit }: Props) {
  const [tags, setTags] = useState<string[]>([]);
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={isAdding ? TEXTS.addTitle(count) : TEXTS.removeTitle(count)}
      submit={isAdding ? TEXTS.add : TEXTS.remove}
      canSubmit={tags.length > 0}
      onSubmit={() => onSubmit(tags)}
    >
      <Combobox
        multiple
        label={TEXTS.tags}
        value={tags}
        onChange={setTags}
        options={options.map((tag) => ({ value: tag }))}
        freeEntry={isAdding}
        hint={isAdding ? TEXTS.tagsHint : undefined}
      />
    </FormDialog>
  );
}
