import { Link } from "@tanstack/react-router";
import { Split } from "lucide-react";
import { useMemo, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copy";
import { Card, Facts, LINK } from "@/ui/Page";
import { Visible } from "@/ui/properties";
import { type Column, DataTable } from "@/ui/table";
import { words } from "@/words/persons";
import { PersonMerges } from "./PersonMerges";
import type { Person } from "./queries";
import { type NewPerson, SplitDialog } from "./SplitDialog";

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

/** The distinct ids of a person, some of which can be split off, and what was merged. */
export function PersonIds({ person }: { person: Person }) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isSplitting, setSplitting] = useState(false);
  const [made, setMade] = useState<readonly NewPerson[]>([]);
  const rows = useMemo(() => person.distinct_ids.map((id) => ({ id })), [person.distinct_ids]);
  const canSplit = useCanEdit() && rows.length > 1;
  const chosen = person.distinct_ids.filter((id) => selected.has(id));
  return (
    <div className="flex flex-col gap-4">
      <Card description={words.ids.hint} title={words.ids.label}>
        <div className="mb-3">
          <Facts
            facts={[[words.ids.uuid, <Copyable key="id" text={person.id} what={words.ids.uuid} />]]}
          />
        </div>
        {made.length > 0 && <NewPersons made={made} />}
        <DataTable<IdRow>
          name="person-ids"
          label={words.ids.label}
          columns={COLUMNS}
          rows={rows}
          rowId={({ id }) => id}
          csv={{ fileName: words.ids.csvName, all: () => rows }}
          {...(canSplit && {
            selection: { selected, onChange: setSelected },
            toolbar: (
              <SplitButton
                count={chosen.length}
                isAll={chosen.length === rows.length}
                onClick={() => setSplitting(true)}
              />
            ),
          })}
        />
      </Card>
      <PersonMerges person={person} />
      {isSplitting && (
        <SplitDialog
          person={person}
          ids={chosen}
          onDone={(persons) => {
            setMade(persons);
            setSelected(new Set());
          }}
          onClose={() => setSplitting(false)}
        />
      )}
    </div>
  );
}

interface SplitButtonProps {
  count: number;
  isAll: boolean;
  onClick: () => void;
}

function SplitButton({ count, isAll, onClick }: SplitButtonProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Button icon={Split} disabled={count === 0 || isAll} onClick={onClick}>
        {words.ids.split}
      </Button>
      {(count === 0 || isAll) && (
        <span className="text-ink-2">{isAll ? words.ids.splitAll : words.ids.splitHint}</span>
      )}
    </div>
  );
}

function NewPersons({ made }: { made: readonly NewPerson[] }) {
  const projectId = useProjectId();
  return (
    <section aria-label={words.split.made} className="mb-3 rounded-md bg-sunken p-3">
      <h3 className="mb-1 font-medium">{words.split.made}</h3>
      <ul className="flex flex-col gap-1">
        {made.map(({ id, distinct_id }) => (
          <li key={id} className="min-w-0">
            <Link
              to="/project/$projectId/persons/$personId"
              params={{ projectId, personId: id }}
              className={LINK}
            >
              <Visible text={distinct_id} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
