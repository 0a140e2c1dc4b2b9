import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useProjectId } from "@/app/session";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/cohorts";
import type { CsvFile } from "./csvFile";
import { FileChoice } from "./FileChoice";
import { type Cohort, sendFile } from "./queries";
import { useCohortsRefresh } from "./useCohortChange";

const WORDS = words.upload;

/** A form that adds the persons of a file to a static cohort. */
export function Upload({ cohort }: { cohort: Cohort }) {
  const projectId = useProjectId();
  const refresh = useCohortsRefresh();
  const [chosen, setChosen] = useState<CsvFile | null>(null);
  const upload = useMutation({
    mutationFn: (file: File) => sendFile(projectId, file, cohort.id),
    onSuccess: async () => {
      toast({ text: WORDS.sent });
      setChosen(null);
      await refresh();
    },
  });
  const canSend = chosen !== null && chosen.column !== null && chosen.rows > 0;
  return (
    <Card title={WORDS.title}>
      <div className="flex flex-col gap-3">
        <FileChoice chosen={chosen} onChoose={setChosen} disabled={cohort.is_calculating} />
        {upload.isError && <ErrorNote error={upload.error} />}
        {chosen !== null && (
          <div>
            <Button
              look="primary"
              disabled={!canSend}
              isBusy={upload.isPending}
              onClick={() => upload.mutate(chosen.file)}
            >
              {WORDS.send}
            </Button>
          </div>
        )}
      </div>
    </Card>
  );
}
