import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Card, LINK, Page } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/experiments";
import { createExperiment, useExperimentsRefresh } from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/experiments/new");
const FIELDS = ["name", "feature_flag_key"];

export default function NewExperimentPage() {
  const projectId = useProjectId();
  const { flag = "" } = route.useSearch();
  const canEdit = useCanEdit();
  const [name, setName] = useState("");
  const [key, setKey] = useState(flag);
  const create = useCreate(projectId);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({ name: name.trim(), feature_flag_key: key.trim() });
  };
  const isOfField = FIELDS.some((attr) => errorOf(create.error, attr) !== undefined);
  return (
    <Page
      title={words.newTitle}
      description={words.emptyHint}
      back={
        <Link to="/project/$projectId/experiments" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Card>
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField
              autoFocus
              label={words.name}
              error={errorOf(create.error, "name")}
              value={name}
              disabled={!canEdit}
              onChange={(event) => setName(event.target.value)}
            />
            <TextField
              label={words.flagKey}
              hint={words.flagKeyHint}
              error={errorOf(create.error, "feature_flag_key")}
              value={key}
              disabled={!canEdit}
              spellCheck={false}
              onChange={(event) => setKey(event.target.value)}
            />
          </div>
        </Card>
        {create.error && !isOfField ? <ErrorNote error={create.error} /> : null}
        <div>
          <Button
            type="submit"
            look="primary"
            disabled={!canEdit}
            title={canEdit ? undefined : words.viewerHint}
            isBusy={create.isPending}
          >
            {words.saveDraft}
          </Button>
        </div>
      </form>
    </Page>
  );
}

function useCreate(projectId: string) {
  const navigate = route.useNavigate();
  const refresh = useExperimentsRefresh();
  return useMutation({
    mutationFn: (body: Parameters<typeof createExperiment>[1]) => createExperiment(projectId, body),
    onSuccess: async (made) => {
      toast({ text: words.created(made.name) });
      await refresh(made);
      await navigate({
        to: "/project/$projectId/experiments/$experimentId",
        params: { projectId, experimentId: String(made.id) },
      });
    },
  });
}
