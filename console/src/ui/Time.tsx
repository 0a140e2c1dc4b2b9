import { type ReactNode, useMemo } from "react";
import { useNow } from "@/lib/hooks";
import { Tooltip } from "@/ui/Tooltip";
import { formatRelative } from "@/words/format";
import { words } from "@/words/ui";
import { TimesContext, timesOf, useTimes } from "./times";

/** Gives all times within it the clocks of a zone. */
export function TimesIn({ zone, children }: { zone: string; children: ReactNode }) {
  const now = useNow();
  const times = useMemo(() => timesOf(zone, now), [zone, now]);
  return <TimesContext.Provider value={times}>{children}</TimesContext.Provider>;
}

interface TimeProps {
  at: string | null | undefined;
  /** What else is shown when it is pointed at, and always said to screen readers. */
  more?: string | undefined;
}

/** "5 minutes ago", with the exact time when it is pointed at. */
export function Time({ at, more }: TimeProps) {
  const times = useTimes();
  if (!at) return <span className="text-ink-3">{words.never}</span>;
  const text = more === undefined ? times.exact(at) : [times.exact(at), <br key="br" />, more];
  return (
    <Tooltip text={text}>
      <time dateTime={at} className="whitespace-nowrap">
        {formatRelative(at, times.now)}
        {more !== undefined && <span className="sr-only">, {more}</span>}
      </time>
    </Tooltip>
  );
}

interface ClockTimeProps {
  at: string;
  seconds?: boolean;
  /** The instant whose date stands above it. */
  besides?: string;
  className?: string;
}

/** "08:48:12", with the date unless it is today's or stands above it. */
export function ClockTime({ at, seconds, besides, className }: ClockTimeProps) {
  const times = useTimes();
  const shown = {
    ...(seconds !== undefined && { seconds }),
    ...(besides !== undefined && { besides, named: false }),
  };
  return (
    <time dateTime={at} title={times.exact(at)} className={className}>
      {times.at(at, shown)}
    </time>
  );
}
