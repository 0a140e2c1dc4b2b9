import { ClockTime } from "@/ui/Time";
import { formatDuration } from "@/words/format";
import { words } from "@/words/persons";
import { type Session, secondsOf } from "./sessions";
import { TimelineRow } from "./TimelineRow";

const WORDS = words.timeline;

interface Props {
  session: Session;
  /** The event that is open. */
  openId: string | undefined;
  onOpen: (id: string | undefined) => void;
}

export function SessionCard({ session, openId, onOpen }: Props) {
  const { entries, id } = session;
  const oldest = entries.at(-1);
  const seconds = secondsOf(session);
  return (
    <section className="min-w-0 rounded-lg border border-line bg-panel">
      <header className="flex flex-wrap items-baseline gap-x-3 border-line border-b px-4 py-2">
        <h2 className="font-semibold">{id === null ? WORDS.noSession : WORDS.session}</h2>
        {oldest && <ClockTime at={oldest.timestamp} className="text-ink-2" />}
        {id !== null && seconds >= 1 && (
          <span className="text-ink-2">{WORDS.duration(formatDuration(seconds))}</span>
        )}
        <span className="text-ink-3">{WORDS.events(entries.length)}</span>
      </header>
      <ol>
        {entries.map((entry) => (
          <TimelineRow
            // An event is listed once as such, and once more for what it changed.
            key={`${entry.timestamp} ${entry.kind} ${entry.event?.id ?? entry.cohort?.id}`}
            entry={entry}
            from={oldest?.timestamp ?? entry.timestamp}
            isOpen={entry.kind === "event" && entry.event?.id === openId}
            onOpen={onOpen}
          />
        ))}
      </ol>
    </section>
  );
}
