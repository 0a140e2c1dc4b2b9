import { ArrowDown, ArrowUp } from "lucide-react";
import { classes } from "@/ui/classes";
import { formatShare } from "@/words/format";
import { words } from "@/words/web";

interface Props {
  /** In percent. */
  change: number | null;
  /** The previous period's number, as text. */
  before: string;
  isIncreaseBad?: boolean;
}

/** The change of a number from the previous period. */
export function Change({ change, before, isIncreaseBad = false }: Props) {
  if (change === null) return null;
  const percent = formatShare(Math.abs(change));
  const text =
    change === 0 ? words.same(before) : (change > 0 ? words.up : words.down)(percent, before);
  const isGood = change > 0 !== isIncreaseBad;
  const Icon = change > 0 ? ArrowUp : ArrowDown;
  return (
    <span
      title={text}
      className={classes(
        "inline-flex items-center gap-0.5 whitespace-nowrap text-sm tabular-nums",
        change === 0 ? "text-ink-3" : isGood ? "text-good" : "text-bad",
      )}
    >
      <span className="sr-only">{text}</span>
      {change !== 0 && <Icon aria-hidden className="size-3.5" />}
      <span aria-hidden>{percent}</span>
    </span>
  );
}
