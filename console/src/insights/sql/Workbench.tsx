import { useQuery } from "@tanstack/react-query";
import { LoaderCircle, Play, X } from "lucide-react";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { useProjectId } from "@/app/session";
import { describeError } from "@/lib/errors";
import { useShortcuts } from "@/lib/shortcuts";
import { Button } from "@/ui/Button";
import { Keys } from "@/ui/Kbd";
import { lazyPart } from "@/ui/lazyPart";
import { words } from "@/words/sql";
import type { EditorHandle } from "./editor/SqlEditor";
import { HistoryList } from "./HistoryList";
import { keepHistory, type Ran, readHistory, withRan } from "./history";
import { namesQuery } from "./names";
import { type PlacedError, placeError } from "./place";
import { Result } from "./Result";
import { TableList } from "./TableList";
import { useRun } from "./useRun";
import type { Work } from "./useWork";
import { VariableFields } from "./VariableFields";
import { variablesIn } from "./variables";

const SqlEditor = lazyPart(
  "sql editor",
  async () => (await import("./editor/SqlEditor")).SqlEditor,
  4,
);

interface Props {
  work: Work;
  /** Whether the query is run at once. */
  isAsked: boolean;
  onRun?: () => void;
}

/** An editor of a query, with its variables above and its result below. */
export function Workbench({ work, isAsked, onRun }: Props) {
  const { draft, setDraft, query } = work;
  const { text, values, shown } = draft;
  const projectId = useProjectId();
  const running = useRun(projectId);
  const [history, setHistory] = useState(() => readHistory(projectId));
  const editor = useRef<EditorHandle>(null);
  const keys = useId();
  const completed = useQuery(namesQuery(projectId));
  const names = useMemo(() => variablesIn(text), [text]);
  const error = useMemo(
    () => placedError(running.error, running.asked?.query),
    [running.error, running.asked],
  );
  const start = (isNew: boolean) => {
    onRun?.();
    note(withRan(readHistory(projectId), { text, at: Date.now() }));
    void running.run(query, isNew);
  };
  const note = (next: readonly Ran[]) => {
    keepHistory(projectId, next);
    setHistory(next);
  };
  const asked = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for the query of the address.
  useEffect(() => {
    if (!isAsked || asked.current) return;
    asked.current = true;
    start(false);
  }, []);
  useShortcuts([{ keys: "mod+enter", label: words.runQuery, run: () => start(true) }]);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <VariableFields
        names={names}
        values={values}
        onChange={(next) => setDraft({ ...draft, values: next })}
      />
      <div className="flex min-w-0 flex-col gap-4 lg:flex-row">
        <div className="flex min-w-0 grow flex-col gap-1">
          <div className="h-60 min-h-24 resize-y overflow-hidden rounded-lg border border-line-strong">
            <SqlEditor
              value={text}
              onChange={(next) => setDraft((before) => ({ ...before, text: next }))}
              onRun={() => start(true)}
              error={error}
              label={words.editor}
              names={completed.data ?? null}
              describedBy={keys}
              handle={editor}
            />
          </div>
          <p id={keys} className="text-ink-3 text-sm">
            {words.keys}
          </p>
        </div>
        <TableList
          names={completed.data ?? null}
          onInsert={(name) => editor.current?.insert(name)}
        />
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
        shown={shown}
        onShown={(next) => setDraft({ ...draft, shown: next })}
        isRunning={running.isRunning}
        isChanged={
          running.asked !== null && JSON.stringify(running.asked) !== JSON.stringify(query)
        }
      />
      <HistoryList
        history={history}
        onOpen={(next) => setDraft({ ...draft, text: next })}
        onClear={() => note([])}
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
