import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { projectsQuery } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { ZoneField } from "@/ui/ZoneField";
import { browserZone } from "@/ui/zonedTime";
import { words } from "@/words/projects";

/** Asks for the name and the time zone of a project, creates it and opens it. */
export default function NewProject({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [timezone, setTimezone] = useState(browserZone());
  const create = useMutation({
    mutationFn: () => dataOf(api.POST("/api/projects/", { body: { name: name.trim(), timezone } })),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
      onClose();
      await navigate({ to: "/project/$projectId", params: { projectId: String(made.id) } });
    },
  });
  const ofField = errorOf(create.error, "name") ?? errorOf(create.error, "timezone");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.newProject}
      submit={words.create}
      onSubmit={() => create.mutate()}
      isBusy={create.isPending}
      canSubmit={name.trim() !== ""}
      error={ofField ? null : create.error}
    >
      <div className="flex flex-col gap-4">
        <TextField
          label={words.name}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={errorOf(create.error, "name")}
        />
        <ZoneField
          value={timezone}
          onChange={setTimezone}
          error={errorOf(create.error, "timezone")}
        />
      </div>
    </FormDialog>
  );
}
