import { useNavigate } from "@tanstack/react-router";
import { ChevronsUpDown, Plus } from "lucide-react";
import { useIsAdmin, useProject, useProjectId, useProjects } from "@/app/session";
import { Button } from "@/ui/Button";
import { Menu, MenuChoice, MenuItem, MenuLine } from "@/ui/Menu";
import { words } from "@/words/app";

/** Opens the home screen of another project, or the dialog for a new one. */
export function ProjectSwitch({ onNew }: { onNew: () => void }) {
  const navigate = useNavigate();
  const projects = useProjects();
  const project = useProject();
  const projectId = useProjectId();
  const isAdmin = useIsAdmin();
  const open = (id: string) => {
    void navigate({ to: "/project/$projectId", params: { projectId: id } });
  };
  return (
    <Menu
      align="start"
      trigger={
        <Button
          look="quiet"
          className="min-w-0"
          aria-label={`${words.project}: ${project?.name ?? ""}`}
        >
          <span className="truncate">{project?.name ?? words.project}</span>
          <ChevronsUpDown aria-hidden className="size-3.5 shrink-0" />
        </Button>
      }
    >
      <MenuChoice
        label={words.allProjects}
        value={projectId}
        options={projects.map((one) => ({ value: String(one.id), label: one.name }))}
        onChange={open}
      />
      {isAdmin && (
        <>
          <MenuLine />
          <MenuItem icon={Plus} onSelect={onNew}>
            {words.newProject}
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
