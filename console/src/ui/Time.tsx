import { useNow } from "@/lib/hooks";
import { Tooltip } from "@/ui/Tooltip";
import { formatExact, formatRelative } from "@/words/format";
import { words } from "@/words/ui";

/** "5 minutes ago", with the exact time when it is pointed at. */
export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <span className="text-ink-3">{words.never}</span>;
  return (
    <Tooltip text={formatExact(at)}>
      <time dateTime={at} className="whitespace-nowrap">
        {formatRelative(at, now)}
      </time>
    </Tooltip>
  );
}
