import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { LINK, Page } from "@/ui/Page";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/cohorts";
import { GroupEditor } from "./criteria/GroupEditor";
import { emptyLeaf, type Group, isCompleteGroup, wireFilters } from "./criteria/model";
import { Preview } from "./criteria/Preview";
import type { CsvFile } from "./csvFile";
import { FileChoice } from "./FileChoice";
import { type CohortSource, KindChoice } from "./KindChoice";
import { sendNewCohortFile } from "./queries";
import { useCohortsRefresh } from "./useCohortChange";

const route = getRouteApi("/signed-in/project/$projectId/cohorts/new");
const WORDS = words.form;

interface Draft {
  name: string;
  source: CohortSource;
  criteria: Group;
  file: CsvFile | null;
}

const EMPTY: Draft = {
  name: "",
  source: "dynamic",
  criteria: { type: "AND", values: [emptyLeaf("person")] },
  file: null,
};

export default function NewCohortPage() {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  const [draft, setDraft] = useState(EMPTY);
  const create = useCreate(draft);
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (canCreate(draft)) create.mutate();
  };
  const isByCriteria = draft.source !== "static";
  const error = errorOf(create.error, "name") === undefined ? create.error : null;
  return (
    <Page
      title={words.newTitle}
      back={
        <Link to="/project/$projectId/cohorts" params={{ projectId }} className={LINK}>
          {words.title}
        </Link>
      }
    >
      <form onSubmit={submit} className="flex min-w-0 flex-col gap-5">
        <TextField
          label={words.name}
          className="max-w-lg"
          value={draft.name}
          onChange={(event) => set({ name: event.target.value })}
          error={errorOf(create.error, "name")}
        />
        <KindChoice value={draft.source} onChange={(source) => set({ source })} />
        {isByCriteria ? (
          <div className="grid min-w-0 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
            <GroupEditor group={draft.criteria} onChange={(criteria) => set({ criteria })} />
            <Preview criteria={draft.criteria} />
          </div>
        ) : (
          <div className="flex max-w-2xl flex-col gap-2">
            <FileChoice chosen={draft.file} onChoose={(file) => set({ file })} />
            <p className="text-ink-2">{WORDS.later}</p>
          </div>
        )}
        {error && <ErrorNote error={error} />}
        <div>
          <Button
            type="submit"
            look="primary"
            isBusy={create.isPending}
            disabled={!canEdit || !canCreate(draft)}
            title={canEdit ? undefined : words.viewerHint}
          >
            {WORDS.submit}
          </Button>
        </div>
      </form>
    </Page>
  );
}

function canCreate({ name, source, criteria, file }: Draft): boolean {
  if (name.trim() === "") return false;
  if (source !== "static") return isCompleteGroup(criteria);
  return file === null || (file.column !== null && file.rows > 0);
}

function useCreate({ name, source, criteria, file }: Draft) {
  const projectId = useProjectId();
  const refresh = useCohortsRefresh();
  const navigate = route.useNavigate();
  const isStatic = source !== "dynamic";
  const send = async (): Promise<number> => {
    if (source === "static" && file !== null) {
      return sendNewCohortFile(projectId, file.file, name.trim());
    }
    const made = await dataOf(
      api.POST("/api/projects/{project_id}/cohorts/", {
        params: { path: { project_id: projectId } },
        body: {
          name: name.trim(),
          is_static: isStatic,
          ...(source !== "static" && { filters: wireFilters(criteria) }),
        },
      }),
    );
    return made.id;
  };
  return useMutation({
    mutationFn: send,
    onSuccess: async (id) => {
      toast({ text: WORDS.created(name.trim()) });
      await refresh();
      await navigate({
        to: "/project/$projectId/cohorts/$cohortId",
        params: { projectId, cohortId: String(id) },
      });
    },
  });
}
