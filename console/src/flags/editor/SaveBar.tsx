import { Button } from "@/ui/Button";
import { Keys } from "@/ui/Kbd";
import { words } from "@/words/flagEditor";
import type { useWhoChanges } from "./WhoChanges";
import { WhoChanges } from "./WhoChanges";

interface SaveBarProps {
  problems: readonly string[];
  changing: ReturnType<typeof useWhoChanges>;
  isOn: boolean;
  onReview: () => void;
  onDiscard: () => void;
}

/** A bar that stays in view while there are unsaved changes, with the people they affect. */
export function SaveBar({ problems, changing, isOn, onReview, onDiscard }: SaveBarProps) {
  return (
    <section
      data-save-bar
      aria-label={words.unsavedBar}
      className="sticky bottom-0 z-20 -mx-4 flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t bg-panel px-4 py-3 shadow-float sm:mx-0 sm:rounded-t-lg sm:border-x"
    >
      <div className="min-w-0 grow basis-64" aria-live="polite">
        <h2>
          <strong className="font-semibold">{words.unsavedBar}</strong>
          <span className="ml-2 text-ink-3 text-sm">{words.keptHere}</span>
        </h2>
        {problems.length > 0 ? (
          <Problems problems={problems} />
        ) : (
          <WhoChanges changing={changing} isOn={isOn} isShort />
        )}
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <span className="hidden md:inline">
          <Keys keys="mod+s" />
        </span>
        <Button onClick={onDiscard}>{words.discard}</Button>
        <Button look="primary" onClick={onReview} disabled={problems.length > 0}>
          {words.review}
        </Button>
      </div>
    </section>
  );
}

export function Problems({ problems }: { problems: readonly string[] }) {
  return (
    <div className="text-sm">
      <p className="text-ink-2">{words.problems.title}</p>
      <ul className="list-disc pl-5 text-bad">
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </div>
  );
}
