import { Upload } from "lucide-react";
import { type DragEvent, useId, useState } from "react";
import { classes } from "@/ui/classes";

interface Props {
  /** What to do: "Drop a CSV file here, or choose a file". */
  label: string;
  hint: string;
  /** The `accept` attribute of the input: ".csv,text/csv". */
  accept: string;
  disabled?: boolean;
  onChoose: (file: File) => void;
}

/** A drop zone for a file, which can also be chosen. */
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
    // biome-ignore lint/a11y/noStaticElementInteractions: the input inside it does the same
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
      {/* Browsers give the native button their own language and style. */}
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
