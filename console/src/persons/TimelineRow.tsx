import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight, PencilLine, UsersRound } from "lucide-react";
import { useId } from "react";
import { useProjectId } from "@/app/session";
import type { components } from "@/lib/schema";
import { LINK } from "@/ui/Page";
import { PropertiesTable, plainName, plainValue, SafeText, Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { ClockTime } from "@/ui/Time";
import { words } from "@/words/persons";
import { eventQuery } from "./queries";
import type { TimelineEntry } from "./sessions";

const WORDS = words.timeline;
const CHANGES_SHOWN = 5;
const ROW = "flex min-w-0 items-start gap-2 px-4 py-1.5";

interface Props {
  entry: TimelineEntry;
  /** The instant whose date stands above the row. */
  from: string;
  isOpen: boolean;
  onOpen: (id: string | undefined) => void;
}

export function TimelineRow(props: Props) {
  const { entry } = props;
  return (
    <li className="border-line border-b last:border-b-0">
      {entry.kind === "event" && <EventRow {...props} />}
      {entry.kind === "properties" && <ChangesRow {...props} />}
      {entry.kind === "cohort" && <CohortRow {...props} />}
    </li>
  );
}

function At({ entry, from }: Pick<Props, "entry" | "from">) {
  return (
    <ClockTime
      at={entry.timestamp}
      seconds
      besides={from}
      className="shrink-0 text-ink-3 text-sm tabular-nums"
    />
  );
}

function EventRow({ entry: { event, ...entry }, from, isOpen, onOpen }: Props) {
  const id = useId();
  if (event === null) return null;
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => onOpen(isOpen ? undefined : event.id)}
        className={`${ROW} w-full text-left hover:bg-sunken`}
      >
        <Icon aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-3" />
        <span className="min-w-0 grow">
          <span className="font-medium">
            <Visible text={plainName(event.name)} />
          </span>{" "}
          {event.flag && (
            <span className="ml-1 text-ink-2">
              <Visible text={WORDS.flag(event.flag.key)} />{" "}
              <Visible text={plainValue(event.flag.value)} />
            </span>
          )}{" "}
          <span className="ml-1 text-ink-3 text-sm">
            {WORDS.by} <Visible text={event.distinct_id} />
          </span>
        </span>
        <At entry={{ ...entry, event }} from={from} />
      </button>
      {isOpen && (
        <div id={id} className="border-line border-t bg-canvas px-4 py-3">
          <EventProperties eventId={event.id} />
        </div>
      )}
    </>
  );
}

function EventProperties({ eventId }: { eventId: string }) {
  const event = useQuery(eventQuery(useProjectId(), eventId));
  return (
    <Loaded query={event}>
      {(found) => <PropertiesTable label={WORDS.eventProperties} properties={found.properties} />}
    </Loaded>
  );
}

function ChangesRow({ entry, from }: Props) {
  const changes = entry.changes ?? [];
  const left = entry.changes_count - Math.min(changes.length, CHANGES_SHOWN);
  return (
    <div className={ROW}>
      <PencilLine aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-3" />
      <div className="min-w-0 grow">
        {WORDS.changed(entry.changes_count)}
        <ul className="text-ink-2">
          {changes.slice(0, CHANGES_SHOWN).map((change) => (
            <li key={change.name}>
              <ChangeText change={change} />
            </li>
          ))}
          {left > 0 && <li>{WORDS.moreChanges(left)}</li>}
        </ul>
      </div>
      <At entry={entry} from={from} />
    </div>
  );
}

function CohortRow({ entry, from }: Props) {
  const projectId = useProjectId();
  const { cohort } = entry;
  if (cohort === null) return null;
  return (
    <div className={ROW}>
      <UsersRound aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-3" />
      <span className="min-w-0 grow">
        {WORDS.entered}{" "}
        <Link
          to="/project/$projectId/cohorts/$cohortId"
          params={{ projectId, cohortId: String(cohort.id) }}
          className={LINK}
        >
          <Visible text={cohort.name || words.cohorts.untitled} />
        </Link>
      </span>
      <At entry={entry} from={from} />
    </div>
  );
}

type ChangedProperty = components["schemas"]["ChangedProperty"];
const VALUE_MAX = 120;

/** "plan is pro · was free" */
function ChangeText({ change }: { change: ChangedProperty }) {
  const name = plainName(change.name);
  if (change.operation === "unset") return <Visible text={WORDS.unset(name)} />;
  const says = change.operation === "set" ? WORDS.set(name) : WORDS.setOnce(name);
  return (
    <>
      <Visible text={says} />{" "}
      <span className="text-ink">
        <SafeText
          text={change.is_cut ? words.history.cut : plainValue(change.value)}
          length={VALUE_MAX}
        />
      </span>
      {change.is_before_known && change.before !== null && (
        <>
          {" · "}
          {WORDS.was} <SafeText text={plainValue(change.before)} length={VALUE_MAX} />
        </>
      )}
    </>
  );
}
