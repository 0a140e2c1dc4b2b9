import { X } from "lucide-react";
import { words } from "@/words/inputs";

export function Chip(props: {
  text: string;
  mono: boolean;
  disabled: boolean;
  onRemove: () => void;
}) {
  return (
    <span className="inline-flex max-w-full items-center gap-0.5 rounded bg-sunken ps-1.5 text-ink">
      <bdi className={`truncate ${props.mono ? "font-mono text-[0.9em]" : ""}`}>{props.text}</bdi>
      <button
        type="button"
        disabled={props.disabled}
        aria-label={words.remove(props.text)}
        className="rounded p-1 text-ink-2 hover:bg-line hover:text-ink"
        onMouseDown={(event) => event.stopPropagation()}
        onClick={props.onRemove}
      >
        <X size={12} aria-hidden />
      </button>
    </span>
  );
}
