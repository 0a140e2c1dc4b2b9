import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import type { components } from "@/lib/schema";
import { FormDialog } from "@/ui/Dialog";
import { Visible } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { toast } from "@/ui/Toast";
import { type Column, DataTable } from "@/ui/table";
import { formatNumber } from "@/words/format";
import { words } from "@/words/persons";
import { type Person, splitPreviewQuery } from "./queries";

export type NewPerson = components["schemas"]["SplitOffPerson"];
type Preview = components["schemas"]["PersonSplitPreview"];
type LeavingId = components["schemas"]["LeavingDistinctId"];
const WORDS = words.split;

const COLUMNS: readonly Column<LeavingId>[] = [
  {
    id: "id",
    header: WORDS.id,
    grow: true,
    fixed: true,
    cell: ({ distinct_id }) => <Visible text={distinct_id} />,
    text: ({ distinct_id }) => distinct_id,
  },
  {
    id: "events",
    header: WORDS.events,
    align: "end",
    cell: ({ events }) => (events === null ? WORDS.unknown : formatNumber(events)),
    text: ({ events }) => events,
  },
  {
    id: "first",
    header: WORDS.first,
    cell: ({ first_event_at }) => <Time at={first_event_at} />,
    text: ({ first_event_at }) => first_event_at,
  },
];

interface Props {
  person: Person;
  ids: readonly string[];
  onDone: (made: readonly NewPerson[]) => void;
  onClose: () => void;
}

/** What a split of these distinct ids will move, and its confirmation. */
export function SplitDialog({ person, ids, onDone, onClose }: Props) {
  const preview = useQuery(splitPreviewQuery(useProjectId(), person.id, ids));
  const split = useSplit(person, ids, (made) => {
    onDone(made);
    onClose();
  });
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={WORDS.title}
      description={<Visible text={WORDS.description(person.name)} />}
      wide
      isDanger
      submit={WORDS.submit}
      onSubmit={() => split.mutate()}
      canSubmit={preview.isSuccess && !preview.isFetching}
      isBusy={split.isPending}
      error={split.error}
    >
      <Loaded query={preview} rows={4}>
        {(found) => <PreviewParts preview={found} />}
      </Loaded>
    </FormDialog>
  );
}

function PreviewParts({ preview }: { preview: Preview }) {
  const { distinct_ids, events, remaining_distinct_ids_count: remaining } = preview;
  return (
    <>
      <p>{WORDS.total(distinct_ids.length, events, remaining)}</p>
      <DataTable<LeavingId>
        name="split-ids"
        label={WORDS.label}
        columns={COLUMNS}
        rows={distinct_ids}
        rowId={({ distinct_id }) => distinct_id}
        maxHeight="40dvh"
      />
      <ul className="list-disc pl-5 text-ink-2">
        {WORDS.effects.map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
    </>
  );
}

function useSplit(
  person: Person,
  ids: readonly string[],
  onDone: (made: readonly NewPerson[]) => void,
) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const sent = api.POST("/api/projects/{project_id}/persons/{id}/split/", {
        params: { path: { project_id: projectId, id: person.id } },
        body: { distinct_ids_to_split: [...ids] },
      });
      const { response } = await sent;
      return { status: response.status, ...(await dataOf(sent)) };
    },
    onSuccess: async ({ status, persons }) => {
      toast({ text: status === 202 ? WORDS.follows : WORDS.done(persons.length) });
      onDone(persons);
      await queries.invalidateQueries({ queryKey: ["persons", projectId] });
    },
  });
}
