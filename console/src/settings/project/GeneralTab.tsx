import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { type Project, projectsQuery, useIsAdmin } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copy";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { Card, Facts } from "@/ui/Page";
import { SelectField } from "@/ui/Select";
import { ErrorNote } from "@/ui/States";
import { formatDate } from "@/words/format";
import { words } from "@/words/settings";
import { useProjectChange } from "./projectChange";

const T = words.project;

export function GeneralTab({ project }: { project: Project }) {
  const isAdmin = useIsAdmin();
  const [name, setName] = useState(project.name);
  const [timezone, setTimezone] = useState(project.timezone);
  const save = useProjectChange(project, words.saved);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ name, timezone });
  };
  const ofField = errorOf(save.error, "name") ?? errorOf(save.error, "timezone");
  return (
    <div className="flex max-w-xl flex-col gap-4">
      <Card description={isAdmin ? undefined : words.onlyAdmins}>
        <form onSubmit={submit} className="flex flex-col gap-4">
          <TextField
            label={T.name}
            required
            disabled={!isAdmin}
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={errorOf(save.error, "name")}
          />
          <SelectField
            label={T.timezone}
            hint={T.timezoneHint}
            disabled={!isAdmin}
            value={timezone}
            options={timezonesWith(timezone)}
            onChange={setTimezone}
            error={errorOf(save.error, "timezone")}
          />
          {save.error && !ofField ? <ErrorNote error={save.error} /> : null}
          <div>
            <Button
              type="submit"
              look="primary"
              isBusy={save.isPending}
              disabled={!isAdmin || (name === project.name && timezone === project.timezone)}
            >
              {words.save}
            </Button>
          </div>
        </form>
      </Card>
      <Card>
        <Facts
          facts={[
            [T.id, <Copyable key="id" text={String(project.id)} what={T.id} />],
            [T.createdAt, formatDate(project.created_at)],
          ]}
        />
      </Card>
      {isAdmin && <NewProject timezone={project.timezone} />}
    </div>
  );
}

function NewProject({ timezone }: { timezone: string }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () => dataOf(api.POST("/api/projects/", { body: { name: name.trim(), timezone } })),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
      await navigate({ to: "/project/$projectId", params: { projectId: String(made.id) } });
    },
  });
  return (
    <div>
      <Button icon={Plus} onClick={() => setOpen(true)}>
        {T.newProject}
      </Button>
      <FormDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={T.newProject}
        submit={T.create}
        onSubmit={() => create.mutate()}
        isBusy={create.isPending}
        canSubmit={name.trim() !== ""}
        error={create.error}
      >
        <TextField
          label={T.name}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </FormDialog>
    </div>
  );
}

const KNOWN: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** The time zones that the browser knows, and the current one, which it may not know. */
function timezonesWith(present: string): { value: string; label: string }[] {
  const names = KNOWN.includes(present) ? KNOWN : [present, ...KNOWN];
  return [...new Set(names)].map((value) => ({ value, label: value.replaceAll("_", " ") }));
}
