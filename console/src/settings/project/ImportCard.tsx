import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Project } from "@/app/session";
import { send } from "@/lib/api";
import { ApiError } from "@/lib/errors";
import { prefix } from "@/lib/prefix";
import { Button } from "@/ui/Button";
import { FileDrop } from "@/ui/FileDrop";
import { Card } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { formatBytes } from "@/words/format";
import { words } from "@/words/transfer";
import { ImportOutcome } from "./ImportOutcome";
import { type ImportReport, totalOf } from "./importReport";

const T = words.import;

/** Imports an export into this project, with a preview before and a report after. */
export function ImportCard({ project, canImport }: { project: Project; canImport: boolean }) {
  const queries = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const preview = useMutation({ mutationFn: (chosen: File) => sendFile(project, chosen, true) });
  const bring = useMutation({
    mutationFn: (chosen: File) => sendFile(project, chosen, false),
    onSuccess: async (report) => {
      toast({ text: T.done(totalOf(report, "created"), totalOf(report, "updated")) });
      await queries.invalidateQueries();
    },
  });
  const choose = (chosen: File) => {
    setFile(chosen);
    preview.mutate(chosen);
  };
  const reset = () => {
    setFile(null);
    preview.reset();
    bring.reset();
  };
  const error = bring.error ?? preview.error;
  const report = bring.data ?? preview.data;
  return (
    <Card title={T.title} description={T.hint}>
      {file === null ? (
        <FileDrop
          label={T.choose}
          hint={T.chooseHint}
          accept=".json,application/json"
          disabled={!canImport}
          onChoose={choose}
        />
      ) : (
        <div className="flex min-w-0 flex-col gap-3">
          <div className="flex flex-wrap items-center justify-between gap-2">
            <p className="min-w-0">
              <bdi className="break-all font-medium">{file.name}</bdi>{" "}
              <span className="text-ink-2">{formatBytes(file.size)}</span>
            </p>
            <Button small onClick={reset} disabled={bring.isPending}>
              {T.other}
            </Button>
          </div>
          {(preview.isPending || bring.isPending) && (
            <Progress text={bring.isPending ? T.importing : T.checking} />
          )}
          {error && <Refusal error={error} onAgain={() => choose(file)} />}
          {report && !error && (
            <ImportOutcome
              report={report}
              isDone={bring.data !== undefined}
              isBusy={bring.isPending}
              onImport={() => bring.mutate(file)}
            />
          )}
        </div>
      )}
    </Card>
  );
}

function Progress({ text }: { text: string }) {
  return (
    <div role="status" aria-busy className="flex flex-col gap-1.5">
      <p className="text-ink-2">{text}</p>
      <div className="h-1.5 animate-[pulse-soft_1.4s_ease_infinite] rounded-full bg-accent" />
    </div>
  );
}

/** The errors in a file, one line each with its location, or why the check failed. */
function Refusal({ error, onAgain }: { error: unknown; onAgain: () => void }) {
  const isOfFile = error instanceof ApiError && error.attr === "file";
  return (
    <div className="flex flex-col items-start gap-2">
      <p className="font-medium">{isOfFile ? T.refused : T.failed}</p>
      <ErrorNote error={error} />
      {!isOfFile && (
        <Button small onClick={onAgain}>
          {T.again}
        </Button>
      )}
    </div>
  );
}

async function sendFile({ id }: Project, file: File, isPreview: boolean): Promise<ImportReport> {
  const body = new FormData();
  body.append("file", file);
  body.append("dry_run", String(isPreview));
  const address = `${location.origin}${prefix}/api/projects/${id}/import/`;
  return (await send(new Request(address, { method: "POST", body }))).json();
}
