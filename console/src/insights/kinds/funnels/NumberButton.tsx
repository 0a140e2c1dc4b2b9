import { formatNumber } from "@/words/format";

interface Props {
  /** What is counted. */
  label: string;
  number: number;
  onOpen: (() => void) | undefined;
}

/** A number that opens the persons behind it. */
export function NumberButton({ label, number, onOpen }: Props) {
  const shown = formatNumber(number);
  if (onOpen === undefined || number === 0) return shown;
  return (
    <button
      type="button"
      aria-label={`${label}: ${shown}`}
      onClick={onOpen}
      className="rounded px-1 text-accent-text tabular-nums underline decoration-line-strong underline-offset-2 hover:decoration-current"
    >
      {shown}
    </button>
  );
}
