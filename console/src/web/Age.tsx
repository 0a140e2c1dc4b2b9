import { Time } from "@/ui/Time";
import { useTimes } from "@/ui/times";
import { words } from "@/words/web";

const RECENT_MS = 60_000;

/** The time an answer was calculated, unless it was just now. */
export function Age({ at }: { at: string | null }) {
  const { now } = useTimes();
  if (at === null || now - new Date(at).getTime() < RECENT_MS) return null;
  return (
    <p className="text-ink-3 text-sm">
      {words.calculated} <Time at={at} />
    </p>
  );
}
