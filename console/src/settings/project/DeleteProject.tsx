import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ellipsis, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Project, projectsQuery, useProjects } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { IconButton } from "@/ui/Button";
import { ConfirmTyped } from "@/ui/ConfirmTyped";
import { Menu, MenuItem } from "@/ui/Menu";
import { Loaded } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words as activity } from "@/words/activity";
import { words } from "@/words/settings";

const T = words.project;

/** The menu of a project's settings, by which it is deleted. */
export function ProjectMenu({ project }: { project: Project }) {
  const [isAsking, setAsking] = useState(false);
  const others = useProjects().filter(
    (one) => one.id !== project.id && one.organization === project.organization,
  );
  const next = others[0];
  return (
    <>
      <Menu trigger={<IconButton icon={Ellipsis} label={T.more} look="default" />}>
        <MenuItem
          icon={Trash2}
          isDanger
          disabled={next === undefined}
          onSelect={() => setAsking(true)}
        >
          {next === undefined ? T.onlyProject : T.delete}
        </MenuItem>
      </Menu>
      {isAsking && next && (
        <DeleteDialog project={project} next={next} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

interface DeleteDialogProps {
  project: Project;
  /** The project whose activity says afterwards what was deleted. */
  next: Project;
  onClose: () => void;
}

function DeleteDialog({ project, next, onClose }: DeleteDialogProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const path = { project_id: String(project.id) };
  const contents = useQuery({
    queryKey: ["project contents", project.id],
    queryFn: ({ signal }) =>
      dataOf(api.GET("/api/projects/{project_id}/contents/", { params: { path }, signal })),
    staleTime: 0,
  });
  const deletion = useMutation({
    mutationFn: () => dataOf(api.DELETE("/api/projects/{project_id}/", { params: { path } })),
    onSuccess: async () => {
      await navigate({
        to: "/project/$projectId/activity",
        params: { projectId: String(next.id) },
        search: { kind: "Project", what: "deleted" },
      });
      queries.setQueryData(projectsQuery.queryKey, (before) =>
        before?.filter((one) => one.id !== project.id),
      );
      void queries.invalidateQueries({ queryKey: ["me"] });
      toast({ text: T.deleted(project.name) });
    },
  });
  return (
    <ConfirmTyped
      isOpen
      onClose={onClose}
      title={T.deleteTitle(project.name)}
      name={project.name}
      submit={T.delete}
      onConfirm={() => deletion.mutate()}
      isBusy={deletion.isPending}
      error={deletion.error}
    >
      <p className="mb-2">{T.deleteHint}</p>
      <Loaded query={contents} rows={2}>
        {(counts) => {
          const kinds = Object.entries(counts).filter(([, count]) => count > 0);
          return kinds.length === 0 ? (
            <p>{T.nothingInIt}</p>
          ) : (
            <ul aria-label={T.contents} className="ms-4 list-disc marker:text-ink-3">
              {kinds.map(([kind, count]) => (
                <li key={kind}>{activity.contents[kind]?.(count) ?? `${count} ${kind}`}</li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </ConfirmTyped>
  );
}
