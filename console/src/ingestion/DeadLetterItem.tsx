import { useQuery } from "@tanstack/react-query";
import { ChevronRight, RotateCcw, Trash2 } from "lucide-react";
import { useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { classes } from "@/ui/classes";
import { SafeText } from "@/ui/properties";
import { Loaded } from "@/ui/States";
import { Time } from "@/ui/Time";
import { words } from "@/words/ingestion";
import { type DeadLetter, letterBodyQuery } from "./queries";

interface DeadLetterItemProps {
  letter: DeadLetter;
  isOpen: boolean;
  onToggle: () => void;
  canEdit: boolean;
  isBusy: boolean;
  onRetry: () => void;
  onRemove: () => void;
}

export function DeadLetterItem(props: DeadLetterItemProps) {
  const { letter, isOpen, canEdit } = props;
  const isRetrying = letter.retry_requested_at !== null;
  const hint = canEdit ? undefined : words.letters.viewer;
  return (
    <li className="border-line border-b py-3 last:border-b-0">
      <div className="flex flex-wrap items-start justify-between gap-2">
        <div className="min-w-0 basis-96 grow">
          <p className="font-mono text-[0.9em]">
            <SafeText text={letter.error} />
          </p>
          <p className="mt-1 flex flex-wrap gap-x-3 text-ink-2 text-sm">
            <span>{words.items(letter.items)}</span>
            <span>{words.letters.size(letter.body_bytes)}</span>
            <span>
              {words.letters.arrived} <Time at={letter.received_at} />
            </span>
            <span>
              {words.letters.attempts(letter.attempts)}, {words.letters.lastTried}{" "}
              <Time at={letter.failed_at} />
            </span>
            {letter.attempts > 1 && !isRetrying && (
              <span className="text-bad">{words.letters.stillFails}</span>
            )}
          </p>
        </div>
        <div className="flex gap-2">
          <Button
            small
            icon={RotateCcw}
            isBusy={isRetrying || props.isBusy}
            disabled={!canEdit}
            title={hint}
            onClick={props.onRetry}
          >
            {isRetrying ? words.letters.retrying : words.letters.retry}
          </Button>
          <Button
            small
            icon={Trash2}
            disabled={!canEdit || isRetrying}
            title={hint}
            onClick={props.onRemove}
          >
            {words.letters.remove}
          </Button>
        </div>
      </div>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={props.onToggle}
        className="mt-1 inline-flex items-center gap-1 text-accent-text text-sm"
      >
        <ChevronRight aria-hidden className={classes("size-4", isOpen && "rotate-90")} />
        {isOpen ? words.letters.close : words.letters.open}
      </button>
      {isOpen && <LetterBody id={letter.id} />}
    </li>
  );
}

function LetterBody({ id }: { id: number }) {
  const body = useQuery(letterBodyQuery(useProjectId(), id));
  return (
    <div className="mt-2">
      <Loaded query={body} rows={3}>
        {({ body: text, is_cut: isCut }) => (
          <>
            <Code text={readable(text)} what={words.letters.bodyName} label={words.letters.body} />
            {isCut && <p className="mt-1 text-ink-2 text-sm">{words.letters.cut}</p>}
          </>
        )}
      </Loaded>
    </div>
  );
}

const READABLE_MAX = 200_000;

/** JSON with line breaks; what is no JSON, or very long, as it is. */
function readable(text: string): string {
  if (text.length > READABLE_MAX) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
