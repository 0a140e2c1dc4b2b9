import { useQuery } from "@tanstack/react-query";
import { type ActivityEntry, describeChange } from "@/activity";
import { useProjectId } from "@/app/session";
import { FormDialog } from "@/ui/Dialog";
import { Disclosure } from "@/ui/Disclosure";
import { JsonDiff } from "@/ui/JsonDiff";
import { Loaded, Skeleton } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { useTimes } from "@/ui/times";
import { words } from "@/words/flagActivity";
import { refresh } from "../changes";
import { type Flag, isObject } from "../model";
import {
  activityQuery,
  type ChangePreview,
  changeFlag,
  changeQuery,
  isConflict,
  type UnsavedFlag,
  useChangeFlag,
} from "../queries";
import { flagSentence } from "../sentence";
import { type Change, changesBack, changesToSend, placeOf } from "./restore";

// The largest page that the API returns.
const ENTRIES_MAX = 1000;

interface Props {
  flag: Flag;
  /** The entry after which the flag was as it should be again. */
  entry: ActivityEntry;
  onClose: () => void;
}

/** Shows what changes and for how many people, and saves it. */
export function RestoreDialog({ flag, entry, onClose }: Props) {
  const projectId = useProjectId();
  const when = useTimes().at(entry.created_at);
  const history = useQuery(activityQuery(projectId, flag.id, 1, ENTRIES_MAX));
  const later = history.data?.results.slice(0, Math.max(0, placeOf(entry, history.data.results)));
  const changes = changesBack(flag, later ?? []);
  const change = useChangeFlag(projectId, flag.id);
  const restore = async () => {
    const saved = await change.mutateAsync(changesToSend(changes, flag.version));
    onClose();
    const back = changes.map((one) => ({ ...one, before: one.after, after: one.before }));
    toast({
      text: words.restored(when),
      undo: async () => {
        await changeFlag(projectId, flag.id, changesToSend(back, saved.version));
        await refresh(projectId, true);
      },
    });
  };
  const error = isConflict(change.error) ? new Error(words.conflict) : change.error;
  return (
    <FormDialog
      isOpen
      wide
      onClose={onClose}
      title={words.restoreTitle}
      description={words.restoreOf(when)}
      submit={words.restore}
      canSubmit={changes.length > 0}
      isBusy={change.isPending}
      error={error}
      onSubmit={() => {
        // Shown in the dialog.
        restore().catch(() => undefined);
      }}
    >
      <Loaded query={history}>
        {() => <Preview projectId={projectId} flag={flag} changes={changes} />}
      </Loaded>
    </FormDialog>
  );
}

function Preview(props: { projectId: string; flag: Flag; changes: readonly Change[] }) {
  const { projectId, flag, changes } = props;
  if (changes.length === 0) return <p className="text-ink-2">{words.none}</p>;
  const side = (of: "before" | "after") =>
    Object.fromEntries(changes.map((one) => [one.field, one[of]]));
  return (
    <div className="flex flex-col gap-3">
      <h3 className="font-medium">{words.changes}</h3>
      <ul className="list-disc pl-5">
        {changes.map((one) => (
          <li key={one.field}>
            <bdi>{describeChange(one)}</bdi>
            {one.field === "filters" && <Sentences change={one} />}
          </li>
        ))}
      </ul>
      <PeopleChanged
        projectId={projectId}
        changed={{ id: flag.id, ...changesToSend(changes, flag.version) }}
      />
      <Disclosure summary={words.asJson}>
        <JsonDiff before={side("before")} after={side("after")} />
      </Disclosure>
      <p className="text-ink-3 text-sm">{words.notRestored}</p>
    </div>
  );
}

function Sentences({ change }: { change: Change }) {
  const sentence = (filters: unknown) =>
    flagSentence({ filters: isObject(filters) ? filters : {} });
  return (
    <p className="text-ink-2">
      <del className="decoration-ink-3">
        <bdi>{sentence(change.before)}</bdi>
      </del>
      {" → "}
      <bdi>{sentence(change.after)}</bdi>
    </p>
  );
}

const TEXTS = words.people;

/** How many people would get a different value, and which, if the flag were changed. */
function PeopleChanged({ projectId, changed }: { projectId: string; changed: UnsavedFlag }) {
  const preview = useQuery(changeQuery(projectId, changed));
  if (preview.isPending) return <Skeleton rows={1} />;
  if (preview.data === undefined) return <p className="text-warn">{TEXTS.unknown}</p>;
  return <Transitions preview={preview.data} />;
}

function Transitions({ preview }: { preview: ChangePreview }) {
  const { changed_persons: changed, total_persons: total, transitions, exact } = preview;
  const moved = transitions.filter((one) => one.before !== one.after && one.persons > 0);
  return (
    <div>
      <p className="font-medium">{changed === 0 ? TEXTS.none : TEXTS.some(changed, total)}</p>
      <ul className="list-disc pl-5">
        {moved.map(({ before, after, persons }) => (
          <li key={`${before} ${after}`}>
            <bdi>{TEXTS.line(persons, String(before), String(after))}</bdi>
          </li>
        ))}
      </ul>
      {!exact && <p className="text-ink-3 text-sm">{TEXTS.estimated(preview.sampled_persons)}</p>}
    </div>
  );
}
