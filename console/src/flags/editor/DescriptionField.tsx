import { Pencil } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { Button, IconButton } from "@/ui/Button";
import { CONTROL } from "@/ui/classes";
import { LongText } from "@/ui/Text";
import { words } from "@/words/flagEditor";

interface DescriptionFieldProps {
  text: string;
  canEdit: boolean;
  onChange: (text: string) => void;
}

export function DescriptionField({ text, canEdit, onChange }: DescriptionFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  if (typed === null) {
    return (
      <p className="flex items-center gap-1 text-ink-2">
        <span className="min-w-0">
          {text === "" ? words.noDescription : <LongText text={text} />}
        </span>
        {canEdit && (
          <IconButton
            icon={Pencil}
            label={words.editDescription}
            onClick={() => setTyped(text)}
            className="size-7"
          />
        )}
      </p>
    );
  }
  const save = () => {
    if (typed !== text) onChange(typed);
    setTyped(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") save();
    if (event.key === "Escape") setTyped(null);
  };
  return (
    <div className="flex max-w-3xl items-center gap-2">
      <input
        // biome-ignore lint/a11y/noAutofocus: it takes the place of the button that was pressed.
        autoFocus
        aria-label={words.description}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={onKeyDown}
        className={CONTROL}
      />
      <Button onClick={save}>{words.save}</Button>
    </div>
  );
}
