import { useInfiniteQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { plainName, plainValue, SafeText, Visible } from "@/ui/properties";
import { Failed, Skeleton } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/persons";
import { changesQuery } from "./queries";
import type { TimelineEntry } from "./sessions";

const WORDS = words.history;

interface Props {
  personId: string;
  name: string;
  onClose: () => void;
}

/** Changes of one property, out of all changes that events made. */
export function PropertyHistory({ personId, name, onClose }: Props) {
  const changes = useInfiniteQuery(changesQuery(useProjectId(), personId));
  const found = (changes.data?.pages ?? [])
    .flatMap((page) => page.results)
    .flatMap((entry) => changeOf(entry, name));
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={WORDS.title(plainName(name))}
      description={WORDS.description}
      wide
    >
      <div className="flex flex-col gap-3">
        {changes.isPending && <Skeleton rows={3} />}
        {changes.isError && <Failed error={changes.error} onRetry={() => void changes.refetch()} />}
        {changes.isSuccess && found.length === 0 && <p className="text-ink-2">{WORDS.none}</p>}
        <ol className="flex flex-col">
          {found.map((change) => (
            <HistoryRow key={change.entry.event?.id} {...change} />
          ))}
        </ol>
        {changes.hasNextPage ? (
          <div>
            <Button
              isBusy={changes.isFetchingNextPage}
              onClick={() => void changes.fetchNextPage()}
            >
              {WORDS.more}
            </Button>
          </div>
        ) : (
          <p className="text-ink-3 text-sm">
            {WORDS.end} {WORDS.byApi}
          </p>
        )}
      </div>
    </Dialog>
  );
}

interface OneChange {
  entry: TimelineEntry;
  change: NonNullable<TimelineEntry["changes"]>[number];
}

function changeOf(entry: TimelineEntry, name: string): OneChange[] {
  const change = entry.changes?.find((one) => one.name === name);
  return change === undefined ? [] : [{ entry, change }];
}

function HistoryRow({ entry, change }: OneChange) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-2 border-line border-b py-1.5 last:border-b-0">
      <span className="text-ink-2">{WORDS.operations[change.operation]}</span>
      {change.operation !== "unset" && (
        <span className="min-w-0 font-medium">
          <SafeText text={change.is_cut ? WORDS.cut : plainValue(change.value)} />
        </span>
      )}
      <span className="min-w-0 text-ink-2">
        {change.is_before_known ? (
          <>
            {WORDS.before}{" "}
            <SafeText
              text={change.before === null ? WORDS.none_before : plainValue(change.before)}
            />
          </>
        ) : (
          WORDS.unknownBefore
        )}
      </span>
      <span className="ml-auto text-ink-3 text-sm">
        {entry.event && (
          <>
            {WORDS.event} <Visible text={plainName(entry.event.name)} />
            {" · "}
          </>
        )}
        <Time at={entry.timestamp} />
      </span>
    </li>
  );
}
