import { ChartLine, RefreshCw } from "lucide-react";
import type { Threshold } from "@/charts";
import type { useAnswer } from "@/insights/answers";
import { costOf, notesOf } from "@/insights/kinds/answered";
import type { Asked, Kind, Place } from "@/insights/kinds/kind";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Empty, Failed, Skeleton } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/insightsBuilder";

interface Props {
  kind: Kind;
  /** null while there is no answer */
  asked: Asked | null;
  missing: string | null;
  /** Whether the error is shown next to a field. */
  isErrorPlaced: boolean;
  state: ReturnType<typeof useAnswer>;
  /** Whether the answer belongs to an earlier question. */
  isOutdated: boolean;
  thresholds: readonly Threshold[] | undefined;
  onOpen: (place: Place) => void;
}

/** The right side: the answer, or the reason there is none. */
export function Result({ isOutdated, ...props }: Props) {
  return (
    <div aria-busy={isOutdated} className={classes("min-w-0", isOutdated && "opacity-60")}>
      <Shown {...props} />
    </div>
  );
}

function Shown(props: Omit<Props, "isOutdated">) {
  const { kind, asked, missing, isErrorPlaced, state, thresholds, onOpen } = props;
  if (missing !== null) return <Empty icon={ChartLine} title={missing} />;
  if (state.error !== null) {
    if (isErrorPlaced) return <Empty icon={ChartLine} title={words.seeField} />;
    return <Failed error={state.error} onRetry={state.retry} />;
  }
  if (asked === null) return <Skeleton rows={8} />;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <kind.Result {...asked} {...(thresholds && { thresholds })} onOpen={onOpen} />
      <Unknown asked={asked} />
      <Footer kind={kind} asked={asked} state={state} />
    </div>
  );
}

function Unknown({ asked }: { asked: Asked }) {
  const { unknown_event: events, unknown_property: properties } = asked.answer.beside;
  return (
    <>
      {Array.isArray(events) && (
        <p role="status" className="text-warn">
          {words.unknownEvents(events.join(", "))}
        </p>
      )}
      {Array.isArray(properties) && (
        <p role="status" className="text-warn">
          {words.unknownProperties(properties.join(", "))}
        </p>
      )}
    </>
  );
}

/** About the numbers: their age, how many values are shown, and the time zone. */
function Footer({ kind, asked, state }: Pick<Props, "kind" | "state"> & { asked: Asked }) {
  const { zone, calculatedAt } = asked.answer;
  return (
    <footer className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-t pt-2 text-ink-3 text-sm">
      <span className="flex items-center gap-1">
        <IconButton
          icon={RefreshCw}
          label={words.refresh}
          className="size-7"
          disabled={state.isBusy}
          onClick={state.refresh}
        />
        {state.isBusy ? (
          words.refreshing
        ) : (
          <span>
            {words.calculated} <Time at={calculatedAt.toISOString()} more={costOf(asked)} />
          </span>
        )}
      </span>
      {notesOf(kind, asked).map((note) => (
        <span key={note}>{note}</span>
      ))}
      <span>{words.zone(zone)}</span>
    </footer>
  );
}
