import { useQuery } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { Card } from "@/ui/Page";
import { Loaded } from "@/ui/States";
import { LongText } from "@/ui/Text";
import { ClockTime } from "@/ui/Time";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/alerts";
import { StateBadge, valueText } from "./columns";
import { type Alert, type AlertCheck, checksQuery } from "./queries";

const HEADERS = words.checkColumns;

const toldOf = ({ webhooks, mails }: AlertCheck): string => words.notified(webhooks, mails);

const COLUMNS: readonly Column<AlertCheck>[] = [
  {
    id: "at",
    header: HEADERS.at,
    width: 190,
    fixed: true,
    cell: ({ checked_at: at }) => <ClockTime at={at} seconds />,
    text: ({ checked_at: at }) => new Date(at),
  },
  {
    id: "state",
    header: HEADERS.state,
    width: 120,
    fixed: true,
    cell: ({ state }) => <StateBadge state={state} />,
    text: ({ state }) => words.states[state],
  },
  {
    id: "value",
    header: HEADERS.value,
    width: 110,
    align: "end",
    cell: ({ value }) => valueText(value),
    text: ({ value }) => value,
  },
  { id: "told", header: HEADERS.told, width: 160, cell: toldOf, text: toldOf },
  {
    id: "error",
    header: HEADERS.error,
    grow: true,
    wrap: true,
    cell: ({ error }) => <LongText text={error ?? ""} />,
    text: ({ error }) => error,
  },
];

/** The history of an alert: what each check found, and whom it told. */
export function CheckTable({ alert }: { alert: Alert }) {
  const checks = useQuery(checksQuery(useProjectId(), alert));
  return (
    <Card isFlush title={words.history} description={words.historyHint}>
      <Loaded query={checks} rows={4}>
        {(rows) => (
          <DataTable
            name="alert.checks"
            label={words.history}
            columns={COLUMNS}
            rows={rows}
            rowId={({ checked_at: at }) => at}
            csv={{ fileName: words.checksCsv, all: () => rows }}
            empty={words.noHistory}
            maxHeight="24rem"
          />
        )}
      </Loaded>
    </Card>
  );
}
