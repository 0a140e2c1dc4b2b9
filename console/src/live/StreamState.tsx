import { describeError } from "@/lib/errors";
import { Notice } from "@/ui/Badge";
import { classes } from "@/ui/classes";
import { words } from "@/words/live";
import { EVENTS_MAX, type FeedState } from "./feed";

interface StreamStateProps {
  feed: FeedState;
  isPaused: boolean;
  isHeld: boolean;
}

const DOTS = {
  connecting: "bg-warn",
  open: "bg-good",
  waiting: "bg-warn",
  ended: "bg-bad",
} as const;

/** The state of the stream: connection, rate, and events that are not shown. */
export function StreamState({ feed, isPaused, isHeld }: StreamStateProps) {
  const { connection, sample, skipped, error } = feed;
  const isOpen = connection === "open";
  const held = isPaused ? words.connection.paused : words.connection.held;
  const text = isOpen && isHeld ? held : words.connection[connection];
  return (
    <div className="flex min-h-6 flex-wrap items-center gap-x-4 gap-y-1">
      <p className="flex items-center gap-2">
        <span
          aria-hidden
          className={classes(
            "size-2 rounded-full",
            isOpen && isHeld ? "bg-warn" : DOTS[connection],
          )}
        />
        {/* Only this is announced: events would never let a screen reader rest. */}
        <span role="status" className="font-medium">
          {text}
        </span>
        <span className="text-ink-2 tabular-nums">{words.rate(feed.perSecond)}</span>
      </p>
      {isHeld && feed.waiting > 0 && (
        <p className="text-ink-2 tabular-nums">{words.waiting(feed.waiting)}</p>
      )}
      {sample !== null && (
        <p className="text-warn">{words.sample(sample.events, sample.shown, sample.perSecond)}</p>
      )}
      {feed.events.length >= EVENTS_MAX && <p className="text-ink-2">{words.kept(EVENTS_MAX)}</p>}
      {skipped !== null && (
        <p className="text-warn">
          {words.skipped(skipped.events)} {reasonOf(skipped.reason)}
        </p>
      )}
      {error !== null && (connection === "ended" || error.code === "too_many_streams") && (
        <Notice tone="bad">{describeError(error)}</Notice>
      )}
    </div>
  );
}

function reasonOf(reason: string): string {
  const found = Object.entries(words.reasons).find(([name]) => name === reason);
  return found?.[1] ?? "";
}
