import { formatNumber } from "@/lib/format";
import { Card } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import { words } from "@/words/ingestion";
import type { Example, Report } from "./queries";

const CELL = "border-line border-b px-2 py-1 text-left align-top";

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
        <details className="mt-1">
          <summary className="cursor-pointer text-accent-text text-sm">
            {words.reasons.examples}
          </summary>
          <Examples label={words.reasons.list(reasonName(reason))} examples={examples} />
        </details>
      )}
    </li>
  );
}

export function Examples({ label, examples }: { label: string; examples: readonly Example[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so that keys must reach it
    <section tabIndex={0} aria-label={label} className="mt-1 overflow-x-auto">
      <table className="w-full min-w-xl text-sm">
        <thead>
          <tr className="text-ink-2">
            {[words.reasons.arrived, words.reasons.event, words.reasons.distinctId].map((name) => (
              <th key={name} scope="col" className={`${CELL} font-medium`}>
                {name}
              </th>
            ))}
            <th scope="col" className={`${CELL} font-medium`}>
              {words.reasons.detail}
            </th>
          </tr>
        </thead>
        <tbody>
          {examples.map((one, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: examples have no id, and stay where they are.
            <tr key={place}>
              <td className={`${CELL} whitespace-nowrap`}>
                <Time at={one.received_at} />
              </td>
              <td className={CELL}>
                {one.event ? <Visible text={one.event} /> : <None text={words.reasons.noEvent} />}
              </td>
              <td className={CELL}>
                {one.distinct_id ? (
                  <Visible text={one.distinct_id} />
                ) : (
                  <None text={words.reasons.noDistinctId} />
                )}
              </td>
              <td className={CELL}>
                <Visible text={one.detail} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function None({ text }: { text: string }) {
  return <span className="text-ink-3 italic">{text}</span>;
}
