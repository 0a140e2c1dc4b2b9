import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { Button } from "@/ui/Button";
import { ConfirmTyped } from "@/ui/ConfirmTyped";
import { toast } from "@/ui/Toast";
import { words } from "@/words/events";
import { type Definition, definitionsQuery } from "./queries";

export function RemoveDefinition({ definition }: { definition: Definition }) {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const remove = useMutation({
    mutationFn: () =>
      dataOf(
        api.DELETE("/api/projects/{project_id}/event_definitions/{id}/", {
          params: { path: { project_id: projectId, id: definition.id } },
        }),
      ),
    onSuccess: async () => {
      await navigate({ to: "/project/$projectId/events", params: { projectId } });
      await queries.invalidateQueries({ queryKey: definitionsQuery(projectId).queryKey });
      toast({ text: words.remove.done(definition.name) });
    },
  });
  return (
    <>
      <Button
        look="danger"
        icon={Trash2}
        disabled={!canEdit}
        title={canEdit ? undefined : words.facts.viewer}
        onClick={() => setOpen(true)}
      >
        {words.remove.action}
      </Button>
      <ConfirmTyped
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={words.remove.title}
        name={definition.name}
        submit={words.remove.action}
        isBusy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        {words.remove.hint}
      </ConfirmTyped>
    </>
  );
}
