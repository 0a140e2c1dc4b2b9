import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useProject, useProjectId } from "@/app/session";
import { Bars, captionOf } from "@/charts";
import { Card } from "@/ui/Page";
import { Select } from "@/ui/Select";
import { Empty, Loaded } from "@/ui/States";
import { useTimes } from "@/ui/times";
import { formatNumber, formatRelative } from "@/words/format";
import { words } from "@/words/ingestion";
import { INTERVALS, ledgerSeries } from "./buckets";
import { type Report, reportQuery } from "./queries";
import { Reasons } from "./Reasons";
import { SPANS, type Span } from "./search";

interface LedgerProps {
  span: Span;
  onSpan: (span: Span) => void;
}

/** What happened to the events of a period, as a chart and by reason. */
export function Ledger({ span, onSpan }: LedgerProps) {
  const report = useQuery({
    ...reportQuery(useProjectId(), span),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <Card
        title={words.ledger.title}
        actions={
          <div className="w-44">
            <Select
              aria-label={words.ledger.span}
              value={span}
              onChange={onSpan}
              options={SPANS.map((value) => ({ value, label: words.ledger.spans[value] }))}
            />
          </div>
        }
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
                <LedgerChart report={found} span={span} />
              )}
            </div>
          )}
        </Loaded>
      </Card>
      {report.data !== undefined && <Reasons report={report.data} />}
    </>
  );
}

function LedgerChart({ report, span }: { report: Report; span: Span }) {
  const zone = useProject()?.timezone ?? "UTC";
  const clock = useTimes();
  const interval = INTERVALS[span];
  const { times, series } = useMemo(
    () => ledgerSeries(report, interval, zone),
    [report, interval, zone],
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
        caption={captionOf(words.ledger.caption, times, interval, { zone, isPartial: true })}
        times={times}
        series={series}
        interval={interval}
        zone={zone}
        isPartial
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
