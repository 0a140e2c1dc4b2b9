import { Download, X } from "lucide-react";
import { useRef, useState } from "react";
import { Button } from "@/ui/Button";
import { words } from "@/words/table";
import type { Column } from "./columns";
import { CSV_TYPE, type CsvRows, csvParts, download } from "./csv";

export interface CsvSource<Row> {
  fileName: string;
  /** Every row that the question has, not those loaded alone. */
  all: (signal: AbortSignal) => CsvRows<Row>;
}

type State = { kind: "idle" } | { kind: "running"; rows: number } | { kind: "failed" };

export function CsvButton<Row>({
  source,
  columns,
  isAction = false,
}: {
  source: CsvSource<Row>;
  columns: readonly Column<Row>[];
  /** Whether it is placed among a screen's actions instead of a table's. */
  isAction?: boolean;
}) {
  const [state, setState] = useState<State>({ kind: "idle" });
  const running = useRef<AbortController | null>(null);

  const run = async () => {
    const controller = new AbortController();
    running.current = controller;
    setState({ kind: "running", rows: 0 });
    try {
      const parts: string[] = [];
      for await (const part of csvParts(columns, source.all(controller.signal))) {
        if (controller.signal.aborted) break;
        parts.push(part.text);
        setState({ kind: "running", rows: part.rows });
      }
      if (!controller.signal.aborted) download(source.fileName, parts, CSV_TYPE);
      setState({ kind: "idle" });
    } catch {
      setState({ kind: controller.signal.aborted ? "idle" : "failed" });
    }
  };

  if (state.kind === "running") {
    return (
      <Button look="quiet" small icon={X} onClick={() => running.current?.abort()}>
        <span className="sr-only">{words.csvCancel}</span>
        <span aria-live="polite">{words.csvRunning(state.rows)}</span>
      </Button>
    );
  }
  return (
    <>
      {state.kind === "failed" && (
        <span role="alert" className="text-sm text-bad">
          {words.csvFailed}
        </span>
      )}
      <Button
        look={isAction ? "default" : "quiet"}
        small={!isAction}
        icon={Download}
        title={words.csvTitle}
        onClick={() => void run()}
      >
        {words.csv}
      </Button>
    </>
  );
}
