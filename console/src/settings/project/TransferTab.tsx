import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { type Project, useIsAdmin } from "@/app/session";
import { send } from "@/lib/api";
import { prefix } from "@/lib/prefix";
import { Button } from "@/ui/Button";
import { Card } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { download } from "@/ui/table";
import { words } from "@/words/transfer";
import { ImportCard } from "./ImportCard";

const T = words.export;

/** Exports the project as one file, and imports such a file. */
export function TransferTab({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const hint = isAdmin ? undefined : words.onlyAdmins;
  const save = useMutation({ mutationFn: () => saveExport(project) });
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      {hint && <p className="text-ink-2">{hint}</p>}
      <Card title={T.title} description={T.hint}>
        <div className="flex flex-col items-start gap-3">
          <Button
            icon={Download}
            disabled={!isAdmin}
            title={hint}
            isBusy={save.isPending}
            onClick={() => save.mutate()}
          >
            {save.isPending ? T.busy : T.action}
          </Button>
          {save.error && <ErrorNote error={save.error} />}
        </div>
      </Card>
      <ImportCard project={project} canImport={isAdmin} />
    </div>
  );
}

/** A request instead of a link, because it may ask for the password, and an error must not be saved
 * as a file. */
async function saveExport({ id, name }: Project): Promise<void> {
  const address = `${location.origin}${prefix}/api/projects/${id}/export/`;
  const answer = await send(new Request(address));
  download(T.fileName(name), [await answer.blob()], "application/json");
}
