import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useProject, useProjectId } from "@/app/session";
import { Bars, captionOf } from "@/charts";
import { DateRangeField } from "@/ui/DateRange";
import { Card } from "@/ui/Page";
import { type RangeSearch, readRange } from "@/ui/ranges";
import { Empty, Loaded } from "@/ui/States";
import { useTimes } from "@/ui/times";
import { formatNumber, formatRelative } from "@/words/format";
import { words } from "@/words/ingestion";
import { ledgerSeries } from "./buckets";
import { type Report, reportQuery } from "./queries";
import { Reasons } from "./Reasons";

interface LedgerProps {
  search: RangeSearch;
  onChange: (search: RangeSearch) => void;
}

const USUAL = { from: "-1h" };
const PRESETS = ["-1h", "-24h", "-7d", "-30d"] as const;

/** What happened to the events of a period, as a chart and by reason. */
export function Ledger({ search, onChange }: LedgerProps) {
  const zone = useProject()?.timezone ?? "UTC";
  const value = readRange(search, USUAL);
  const report = useQuery({
    ...reportQuery(useProjectId(), value.range, zone),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <Card
        title={words.ledger.title}
        actions={<DateRangeField value={value} zone={zone} presets={PRESETS} onChange={onChange} />}
      >
        <Loaded query={report} rows={6}>
          {(found) => (
            <div className="flex flex-col gap-4">
              <Waiting waiting={found.waiting} />
              {(found.totals.accepted ?? 0) === 0 ? (
                <Empty title={words.ledger.empty}>
                  <p>{words.ledger.emptyHint}</p>
                </Empty>
              ) : (
                <LedgerChart report={found} zone={zone} />
              )}
            </div>
          )}
        </Loaded>
      </Card>
      {report.data !== undefined && <Reasons report={report.data} />}
    </>
  );
}

function LedgerChart({ report, zone }: { report: Report; zone: string }) {
  const clock = useTimes();
  const { times, series, interval, isPartial } = useMemo(
    () => ledgerSeries(report, zone),
    [report, zone],
  );
  const { totals } = report;
  const legend = [
    [words.ledger.stored, totals.stored, words.meanings.stored],
    [words.ledger.duplicates, totals.duplicates, words.meanings.duplicates],
    [words.ledger.dropped, totals.dropped, words.meanings.dropped],
    [words.ledger.dead, totals.dead_lettered, words.meanings.dead],
  ] as const;
  return (
    <>
      <Bars
        caption={captionOf(words.ledger.caption, times, interval, { zone, isPartial })}
        times={times}
        series={series}
        interval={interval}
        zone={zone}
        isPartial={isPartial}
        fileName="ledger"
        note={words.ledger.note(clock.at(report.end))}
      />
      <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-2 lg:grid-cols-4">
        {legend.map(([name, count, meaning]) => (
          <div key={name}>
            <dt className="text-ink-2">{name}</dt>
            <dd>
              <span className="font-semibold text-xl tabular-nums">{formatNumber(count ?? 0)}</span>
              <span className="block text-ink-2 text-sm">{meaning}</span>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Waiting({ waiting }: { waiting: Report["waiting"] }) {
  if (waiting === null) return <p className="text-warn">{words.waiting.unknown}</p>;
  if (waiting.requests === 0) return <p className="text-ink-2">{words.waiting.none}</p>;
  const since =
    waiting.oldest === null ? "" : `; ${words.waiting.since(formatRelative(waiting.oldest))}`;
  return <p className="text-warn">{`${words.waiting.some(waiting.requests)}${since}.`}</p>;
}
