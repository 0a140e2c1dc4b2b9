import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Badge, type Tone } from "@/ui/Badge";
import { Dialog } from "@/ui/Dialog";
import { Empty, Loaded } from "@/ui/States";
import { LongText } from "@/ui/Text";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/exports";
import { formatBytes, formatNumber } from "@/words/format";
import { type BatchExport, type Run, runsQuery } from "./queries";

const HEADERS = words.runColumns;
const TONES: Record<Run["status"], Tone> = {
  Running: "info",
  Completed: "good",
  FailedRetryable: "bad",
};

/** The hours or days that an export has written or tried, the newest first. */
export function Runs({ of, onClose }: { of: BatchExport; onClose: () => void }) {
  const runs = useQuery(runsQuery(useProjectId(), of.id));
  return (
    <Dialog isOpen wide onClose={onClose} title={words.runsOf(of.name)}>
      <Loaded query={runs}>
        {({ results, count: total }) => (
          <DataTable
            name="export.runs"
            label={words.runs}
            columns={COLUMNS}
            rows={results}
            rowId={({ id }) => String(id)}
            total={total}
            empty={<Empty title={words.noRuns} />}
          />
        )}
      </Loaded>
    </Dialog>
  );
}

const COLUMNS: readonly Column<Run>[] = [
  {
    id: "interval",
    header: HEADERS.interval,
    width: 140,
    fixed: true,
    text: ({ data_interval_start }) => new Date(data_interval_start),
    cell: ({ data_interval_start }) => <Time at={data_interval_start} />,
  },
  {
    id: "status",
    header: HEADERS.status,
    width: 130,
    text: ({ status }) => words.statuses[status],
    cell: ({ status }) => <Badge tone={TONES[status]}>{words.statuses[status]}</Badge>,
  },
  {
    id: "rows",
    header: HEADERS.rows,
    width: 100,
    align: "end",
    text: ({ records_completed }) => records_completed,
    cell: ({ records_completed: rows }) => (rows === null ? null : formatNumber(rows)),
  },
  {
    id: "bytes",
    header: HEADERS.bytes,
    width: 100,
    align: "end",
    text: ({ bytes_exported }) => bytes_exported,
    cell: ({ bytes_exported: size }) => (size === null ? null : formatBytes(size)),
  },
  {
    id: "attempts",
    header: HEADERS.attempts,
    width: 90,
    align: "end",
    text: ({ attempts }) => attempts,
    cell: ({ attempts }) => attempts,
  },
  {
    id: "finished",
    header: HEADERS.finished,
    width: 140,
    text: ({ finished_at }) => finished_at,
    cell: ({ finished_at }) => (finished_at === null ? null : <Time at={finished_at} />),
  },
  {
    id: "error",
    header: HEADERS.error,
    grow: true,
    wrap: true,
    text: ({ latest_error }) => latest_error ?? "",
    cell: ({ latest_error }) => <LongText text={latest_error ?? ""} />,
  },
];
