import { Copyable } from "@/ui/Copy";
import { Card, Facts } from "@/ui/Page";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/persons";
import type { Person } from "./queries";

interface IdRow {
  id: string;
}

const COLUMNS: readonly Column<IdRow>[] = [
  {
    id: "id",
    header: words.ids.id,
    grow: true,
    fixed: true,
    cell: ({ id }) => <Copyable text={id} what={id} />,
    text: ({ id }) => id,
  },
];

export function PersonIds({ person }: { person: Person }) {
  const rows = person.distinct_ids.map((id) => ({ id }));
  return (
    <Card description={words.ids.hint} title={words.tabs.ids}>
      <div className="mb-3">
        <Facts
          facts={[[words.ids.uuid, <Copyable key="id" text={person.id} what={words.ids.uuid} />]]}
        />
      </div>
      <DataTable<IdRow>
        name="person-ids"
        label={words.ids.label}
        columns={COLUMNS}
        rows={rows}
        rowId={({ id }) => id}
        csv={{ fileName: words.ids.csvName, all: () => rows }}
      />
    </Card>
  );
}
