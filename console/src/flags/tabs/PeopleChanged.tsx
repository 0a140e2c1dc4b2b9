import { useQuery } from "@tanstack/react-query";
import { Skeleton } from "@/ui/States";
import { words } from "@/words/flagActivity";
import { type ChangePreview, changeQuery, type UnsavedFlag } from "../queries";

const TEXTS = words.people;

/** How many people would get a different value, and which, if the flag were changed. */
export function PeopleChanged({ projectId, changed }: { projectId: string; changed: UnsavedFlag }) {
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
