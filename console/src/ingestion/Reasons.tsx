import { Disclosure } from "@/ui/Disclosure";
import { Card } from "@/ui/Page";
import { SafeText, Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import { formatNumber } from "@/words/format";
import { words } from "@/words/ingestion";
import type { Example, Report } from "./queries";

/** Why events were not stored, each reason in plain words and with examples. */
export function Reasons({ report }: { report: Report }) {
  const { reasons, changes_not_made: changes } = report;
  return (
    <>
      <Card title={words.reasons.title} description={words.reasons.older}>
        {reasons.length === 0 ? (
          <p className="text-ink-2">{words.reasons.none}</p>
        ) : (
          <ul className="flex flex-col gap-4">
            {reasons.map((one) => (
              <ReasonItem key={one.reason} {...one} count={one.items} />
            ))}
          </ul>
        )}
      </Card>
      {changes.length > 0 && (
        <Card title={words.reasons.changes}>
          <ul className="flex flex-col gap-4">
            {changes.map((one) => (
              <ReasonItem key={one.reason} {...one} />
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

interface ReasonItemProps {
  reason: string;
  meaning: string;
  count: number;
  examples: readonly Example[];
}

/** Its name in words. */
export function reasonName(reason: string): string {
  const found = Object.entries(words.names).find(([name]) => name === reason);
  return found?.[1] ?? reason;
}

function ReasonItem({ reason, meaning, count, examples }: ReasonItemProps) {
  return (
    <li>
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h3 className="font-medium">{reasonName(reason)}</h3>
        <span className="tabular-nums">{formatNumber(count)}</span>
        <p className="basis-full text-ink-2">{meaning}</p>
      </div>
      {examples.length > 0 && (
        <Disclosure summary={words.reasons.examples}>
          <Examples label={words.reasons.list(reasonName(reason))} examples={examples} />
        </Disclosure>
      )}
    </li>
  );
}

export function Examples({ label, examples }: { label: string; examples: readonly Example[] }) {
  return (
    <ul aria-label={label} className="mt-1 flex flex-col text-sm">
      {examples.map((one, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: examples have no id, and stay where they are.
        <li key={place} className="border-line border-b py-1.5 last:border-b-0">
          <span className="flex flex-wrap gap-x-3">
            <Time at={one.received_at} />
            {isOfEvent(one) && (
              <>
                <Sent
                  name={words.reasons.event}
                  value={one.event}
                  otherwise={words.reasons.noEvent}
                />
                <Sent
                  name={words.reasons.distinctId}
                  value={one.distinct_id}
                  otherwise={words.reasons.noDistinctId}
                />
              </>
            )}
          </span>
          <span className="text-ink-2">
            <SafeText text={one.detail} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** For a dead letter only the request is known, not its events. */
function isOfEvent({ event, distinct_id: distinctId, uuid }: Example): boolean {
  return [event, distinctId, uuid].some((one) => one !== null);
}

interface SentProps {
  name: string;
  value: string | null;
  otherwise: string;
}

function Sent({ name, value, otherwise }: SentProps) {
  return (
    <span className="min-w-0">
      <span className="text-ink-2">{name}</span>{" "}
      {value ? <Visible text={value} /> : <span className="text-ink-3 italic">{otherwise}</span>}
    </span>
  );
}
