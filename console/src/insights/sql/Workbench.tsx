import { LoaderCircle, Play, X } from "lucide-react";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { useProjectId } from "@/app/session";
import { describeError } from "@/lib/errors";
import { useShortcuts } from "@/lib/shortcuts";
import { Button } from "@/ui/Button";
import { Keys } from "@/ui/Kbd";
import { lazyPart } from "@/ui/lazyPart";
import { words } from "@/words/sql";
import type { SqlQuery } from "./answer";
import type { EditorHandle } from "./editor/SqlEditor";
import { type PlacedError, placeError } from "./place";
import { Result } from "./Result";
import { useRun } from "./useRun";
import { VariableFields } from "./VariableFields";
import { queryOf, type Values, variablesIn } from "./variables";

const SqlEditor = lazyPart(
  "sql editor",
  async () => (await import("./editor/SqlEditor")).SqlEditor,
  4,
);

interface Props {
  /** isAsked: whether it is run at once */
  first: { text: string; values: Values; isAsked: boolean };
  onRun: (query: SqlQuery) => void;
  onChange: (text: string) => void;
}

/** An editor of a query, with its variables above and its result below. */
export function Workbench({ first, onRun, onChange }: Props) {
  const [text, setText] = useState(first.text);
  const [values, setValues] = useState(first.values);
  const running = useRun(useProjectId());
  const editor = useRef<EditorHandle>(null);
  const keys = useId();
  const names = useMemo(() => variablesIn(text), [text]);
  const error = useMemo(
    () => placedError(running.error, running.asked?.query),
    [running.error, running.asked],
  );
  const start = (isNew: boolean) => {
    const query = queryOf(text, values);
    onRun(query);
    void running.run(query, isNew);
  };
  const asked = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for the query of the address.
  useEffect(() => {
    if (!first.isAsked || asked.current) return;
    asked.current = true;
    start(false);
  }, []);
  useShortcuts([{ keys: "mod+enter", label: words.runQuery, run: () => start(true) }]);
  const change = (next: string) => {
    setText(next);
    onChange(next);
  };
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <VariableFields names={names} values={values} onChange={setValues} />
      <div className="flex min-w-0 flex-col gap-1">
        <div className="h-60 min-h-24 resize-y overflow-hidden rounded-lg border border-line-strong">
          <SqlEditor
            value={text}
            onChange={change}
            onRun={() => start(true)}
            error={error}
            describedBy={keys}
            handle={editor}
          />
        </div>
        <p id={keys} className="text-ink-3 text-sm">
          {words.keys}
        </p>
      </div>
      <Bar
        isRunning={running.isRunning}
        onRun={() => start(true)}
        onCancel={running.cancel}
        isCancelled={running.isCancelled}
      />
      {error !== null && <ErrorLine error={error} onGo={(place) => editor.current?.goTo(place)} />}
      <Result
        answer={running.answer}
        isRunning={running.isRunning}
        isChanged={running.asked !== null && running.asked.query !== text}
      />
    </div>
  );
}

function placedError(error: unknown, text: string | undefined): PlacedError | null {
  return error === null || text === undefined ? null : placeError(describeError(error), text);
}

interface BarProps {
  isRunning: boolean;
  isCancelled: boolean;
  onRun: () => void;
  onCancel: () => void;
}

function Bar({ isRunning, isCancelled, onRun, onCancel }: BarProps) {
  return (
    <div className="flex min-h-9 min-w-0 flex-wrap items-center gap-3">
      <Button look="primary" icon={Play} onClick={onRun}>
        {words.run}
      </Button>
      <span className="hidden md:inline">
        <Keys keys="mod+enter" />
      </span>
      {isRunning && (
        <Button icon={X} onClick={onCancel}>
          {words.cancel}
        </Button>
      )}
      <span role="status" className="flex min-w-0 items-center gap-2 text-ink-2">
        {isRunning && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
        {isRunning ? words.running : isCancelled ? words.cancelled : ""}
      </span>
    </div>
  );
}

interface ErrorLineProps {
  error: PlacedError;
  onGo: (place: number) => void;
}

/** The error in words, for those who do not see where it stands in the text. */
function ErrorLine({ error, onGo }: ErrorLineProps) {
  const { detail, part } = error;
  return (
    <div
      role="alert"
      className="flex min-w-0 flex-wrap items-center gap-3 rounded-md bg-bad-soft px-3 py-2 text-bad"
    >
      <bdi className="min-w-0 grow basis-64 break-words">{detail}</bdi>
      {part !== null && (
        <Button small onClick={() => onGo(part.from)}>
          {words.goToError}
        </Button>
      )}
    </div>
  );
}
