import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ellipsis, Trash2 } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { IconButton } from "@/ui/Button";
import { ConfirmTyped } from "@/ui/ConfirmTyped";
import { Menu, MenuItem } from "@/ui/Menu";
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
      <Menu trigger={<IconButton icon={Ellipsis} label={words.actions} look="default" />}>
        <MenuItem icon={Trash2} isDanger disabled={!canEdit} onSelect={() => setOpen(true)}>
          {words.remove.action}
        </MenuItem>
      </Menu>
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
