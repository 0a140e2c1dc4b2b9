import { Button } from "@/ui/Button";
import { Disclosure } from "@/ui/Disclosure";
import { Visible } from "@/ui/properties";
import { Time } from "@/ui/Time";
import { words } from "@/words/sql";
import type { Ran } from "./history";

interface Props {
  history: readonly Ran[];
  onOpen: (text: string) => void;
  onClear: () => void;
}

/** The queries that were run in this browser. */
export function HistoryList({ history, onOpen, onClear }: Props) {
  return (
    <Disclosure summary={words.history}>
      {history.length === 0 ? (
        <p className="text-ink-2">{words.historyEmpty}</p>
      ) : (
        <>
          <ul className="max-h-72 overflow-y-auto rounded-lg border border-line bg-panel">
            {history.map(({ text, at }) => (
              <li key={at} className="border-line border-b last:border-b-0">
                <button
                  type="button"
                  aria-label={words.openQuery(text)}
                  className="flex w-full min-w-0 items-baseline gap-3 px-3 py-1.5 text-start -outline-offset-2 hover:bg-sunken"
                  onClick={() => onOpen(text)}
                >
                  <span className="min-w-0 grow truncate font-mono text-[0.9em]">
                    <Visible text={text.replace(/\s+/g, " ")} />
                  </span>
                  <span className="shrink-0 text-ink-3 text-sm">
                    <Time at={new Date(at).toISOString()} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
          <Button look="quiet" small className="mt-1" onClick={onClear}>
            {words.clearHistory}
          </Button>
        </>
      )}
    </Disclosure>
  );
}
