import { useQuery } from "@tanstack/react-query";
import { FileOutput, Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { useIsAdmin, useProjectId } from "@/app/session";
import { Badge, Notice, type Tone } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { Empty, Loaded } from "@/ui/States";
import { LongText } from "@/ui/Text";
import { Time } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/exports";
import { ExportActions } from "./ExportActions";
import { ExportDialog } from "./ExportDialog";
import { type BatchExport, exportsQuery } from "./queries";
import { Runs } from "./Runs";

const HEADERS = words.columns;

/** The dialog that is open. "new": an export that is being made. */
type Open = { edited: BatchExport | "new" } | { runsOf: BatchExport } | null;

export default function ExportsPage() {
  const isAdmin = useIsAdmin();
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  return (
    <Page
      title={words.title}
      description={words.hint}
      actions={
        isAdmin && (
          <Button look="primary" icon={Plus} onClick={() => setOpen({ edited: "new" })}>
            {words.create}
          </Button>
        )
      }
    >
      {isAdmin ? <Exports onOpen={setOpen} /> : <Notice>{words.onlyAdmins}</Notice>}
      {open && "edited" in open && (
        <ExportDialog edited={open.edited === "new" ? null : open.edited} onClose={close} />
      )}
      {open && "runsOf" in open && <Runs of={open.runsOf} onClose={close} />}
    </Page>
  );
}

function Exports({ onOpen }: { onOpen: (open: Open) => void }) {
  const exports = useQuery(exportsQuery(useProjectId()));
  const columns = useMemo(() => [...COLUMNS, actionsColumn(onOpen)], [onOpen]);
  return (
    <Loaded query={exports} rows={4}>
      {({ results }) =>
        results.length === 0 ? (
          <Empty icon={FileOutput} title={words.none}>
            <p>{words.noneHint}</p>
          </Empty>
        ) : (
          <DataTable<BatchExport>
            name="exports"
            label={words.title}
            columns={columns}
            rows={results}
            rowId={({ id }) => String(id)}
            rowLabel={({ name }) => name}
          />
        )
      }
    </Loaded>
  );
}

type State = keyof typeof words.states;

const TONES: Record<State, Tone> = { paused: "neutral", failing: "bad", active: "good" };

function stateOf({ paused, latest_error }: BatchExport): State {
  if (paused) return "paused";
  return latest_error === null ? "active" : "failing";
}

function placeOf({ destination: { config } }: BatchExport): string {
  return `s3://${[config.bucket_name, config.prefix].filter(Boolean).join("/")}`;
}

const COLUMNS: readonly Column<BatchExport>[] = [
  {
    id: "name",
    header: HEADERS.name,
    grow: true,
    fixed: true,
    sortable: true,
    text: ({ name }) => name,
    cell: ({ name }) => <Visible text={name} />,
  },
  {
    id: "destination",
    header: HEADERS.destination,
    grow: true,
    text: placeOf,
    cell: (one) => <bdi>{placeOf(one)}</bdi>,
  },
  {
    id: "interval",
    header: HEADERS.interval,
    width: 100,
    text: ({ interval }) => words.intervals[interval],
    cell: ({ interval }) => words.intervals[interval],
  },
  {
    id: "state",
    header: HEADERS.state,
    grow: true,
    wrap: true,
    text: (one) => one.latest_error ?? words.states[stateOf(one)],
    cell: (one) => (
      <span className="flex min-w-0 flex-col items-start gap-1">
        <Badge tone={TONES[stateOf(one)]}>{words.states[stateOf(one)]}</Badge>
        {one.latest_error !== null && <LongText text={one.latest_error} />}
      </span>
    ),
  },
  {
    id: "next",
    header: HEADERS.next,
    width: 140,
    text: ({ next_start }) => new Date(next_start),
    cell: ({ next_start }) => <Time at={next_start} />,
  },
];

const actionsColumn = (onOpen: (open: Open) => void): Column<BatchExport> => ({
  id: "actions",
  header: HEADERS.actions,
  width: 130,
  fixed: true,
  text: () => null,
  cell: (one) => (
    <span className="inline-flex gap-1">
      <Button small onClick={() => onOpen({ runsOf: one })}>
        {words.runs}
      </Button>
      <ExportActions export={one} onEdit={() => onOpen({ edited: one })} />
    </span>
  ),
});
