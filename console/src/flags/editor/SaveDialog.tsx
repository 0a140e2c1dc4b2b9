import { Notice } from "@/ui/Badge";
import { FormDialog } from "@/ui/Dialog";
import { words } from "@/words/flagEditor";
import type { Difference } from "./changes";
import type { useWhoChanges } from "./WhoChanges";
import { WhoChanges } from "./WhoChanges";

interface SaveDialogProps {
  differences: readonly Difference[];
  changing: ReturnType<typeof useWhoChanges>;
  isOn: boolean;
  hasTaken: boolean;
  isBusy: boolean;
  error: unknown;
  onSave: () => void;
  onClose: () => void;
}

/** The confirmation of a save: its changes in words, and the people they affect. */
export function SaveDialog(props: SaveDialogProps) {
  const { differences, changing, isOn, hasTaken, isBusy, error, onSave, onClose } = props;
  return (
    <FormDialog
      isOpen
      wide
      onClose={onClose}
      title={words.saveTitle}
      submit={words.saveSubmit}
      onSubmit={onSave}
      isBusy={isBusy}
      error={error}
    >
      {hasTaken && <Notice tone="warn">{words.takenOver}</Notice>}
      <section>
        <h3 className="mb-1 font-medium">{words.whoChanges}</h3>
        <WhoChanges changing={changing} isOn={isOn} />
      </section>
      <section>
        <h3 className="mb-1 font-medium">{words.changes}</h3>
        <DifferenceList differences={differences} />
      </section>
    </FormDialog>
  );
}

export function DifferenceList({ differences }: { differences: readonly Difference[] }) {
  return (
    <dl className="flex flex-col gap-2">
      {differences.map(({ what, before, after }) => (
        <div key={`${what} ${before} ${after}`}>
          <dt className="text-ink-2 text-sm">
            <bdi>{what}</bdi>
            {before === null && after !== null && ` (${words.added})`}
            {after === null && before !== null && ` (${words.isRemoved})`}
          </dt>
          <dd className="min-w-0">
            {before !== null && (
              <del className="mr-2 rounded bg-bad-soft px-1 text-bad">
                <bdi>{shortened(before)}</bdi>
              </del>
            )}
            {after !== null && (
              <ins className="rounded bg-good-soft px-1 text-good no-underline">
                <bdi>{shortened(after)}</bdi>
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const CHARS_MAX = 400;
const shortened = (text: string): string =>
  text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text;
