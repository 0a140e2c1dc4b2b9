import { Upload } from "lucide-react";
import { type DragEvent, useId, useState } from "react";
import { classes } from "@/ui/classes";

interface Props {
  /** What to do: "Drop a CSV file here, or choose a file". */
  label: string;
  hint: string;
  /** As the attribute of a field: ".csv,text/csv". */
  accept: string;
  disabled?: boolean;
  onChoose: (file: File) => void;
}

/** A place where a file is dropped, or chosen. */
export function FileDrop({ label, hint, accept, disabled = false, onChoose }: Props) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const take = (file: File | undefined) => {
    if (file !== undefined && !disabled) onChoose(file);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files[0]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the field inside of it does the same
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
      className={classes(
        "relative flex flex-col items-center gap-1 rounded-lg border border-line-strong border-dashed p-4 text-center",
        isOver && "bg-accent-soft",
      )}
    >
      <Upload aria-hidden className="size-5 text-ink-3" />
      {/* Browsers name the button of the field in a language and look of their own. */}
      <input
        id={id}
        type="file"
        accept={accept}
        disabled={disabled}
        aria-describedby={`${id}-hint`}
        onChange={(event) => take(event.target.files?.[0])}
        className="peer sr-only"
      />
      <label
        htmlFor={id}
        className="cursor-pointer rounded-md px-1 font-medium text-accent-text underline peer-focus-visible:outline-2 peer-focus-visible:outline-focus peer-disabled:cursor-default peer-disabled:text-ink-3"
      >
        {label}
      </label>
      <p id={`${id}-hint`} className="text-ink-3 text-sm">
        {hint}
      </p>
    </div>
  );
}
