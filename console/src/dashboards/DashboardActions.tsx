import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Copy, Ellipsis, House, Maximize, Pencil, Pin, Share2, Trash2 } from "lucide-react";
import { useState } from "react";
import { useProjectChange } from "@/app/projectChange";
import { type Project, useCanEdit, useProject, useProjectId } from "@/app/session";
import { EditDetails, type KnownDetails } from "@/insights";
import { Button, IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { doAndSay, toast, toastError } from "@/ui/Toast";
import { words } from "@/words/dashboards";
import { type Dashboard, duplicateDashboard, readDashboard, useDashboardChange } from "./queries";
import { ShareDialog } from "./ShareDialog";

const route = getRouteApi("/signed-in/project/$projectId/dashboards/$dashboardId");
const INTERVALS_S = [60, 300, 900, 0];

interface Props {
  dashboard: Dashboard;
  canEdit: boolean;
}

export function DashboardActions({ dashboard, canEdit }: Props) {
  const canCreate = useCanEdit();
  const project = useProject();
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const [isEditing, setEditing] = useState(false);
  const [isSharing, setSharing] = useState(false);
  const change = useDashboardChange(dashboard.id);
  const duplicate = useDuplicate(dashboard);
  const remove = useDeletion(dashboard);
  const pin = () => change.mutate({ pinned: !dashboard.pinned }, { onError: toastError });
  return (
    <>
      <Menu trigger={<Button icon={Maximize}>{words.fullScreen}</Button>}>
        {INTERVALS_S.map((seconds) => (
          <MenuItem
            key={seconds}
            onSelect={() => void navigate({ search: (before) => ({ ...before, full: seconds }) })}
          >
            {words.fullScreens[seconds]}
          </MenuItem>
        ))}
      </Menu>
      <Menu trigger={<IconButton icon={Ellipsis} label={words.more} look="default" />}>
        <MenuItem icon={Pencil} disabled={!canEdit} onSelect={() => setEditing(true)}>
          {words.edit}
        </MenuItem>
        <MenuItem icon={Pin} disabled={!canEdit} onSelect={pin}>
          {dashboard.pinned ? words.unpin : words.pin}
        </MenuItem>
        {project && <HomeItem dashboard={dashboard} project={project} disabled={!canCreate} />}
        <MenuItem icon={Share2} disabled={!canEdit} onSelect={() => setSharing(true)}>
          {words.share}
        </MenuItem>
        <MenuItem
          icon={Copy}
          disabled={!canCreate || duplicate.isPending}
          onSelect={() => duplicate.mutate()}
        >
          {words.duplicate}
        </MenuItem>
        <MenuItem icon={Trash2} isDanger disabled={!canEdit} onSelect={() => void remove()}>
          {words.remove}
        </MenuItem>
      </Menu>
      {isSharing && <ShareDialog dashboard={dashboard} onClose={() => setSharing(false)} />}
      {isEditing && (
        <EditDetails
          title={words.editTitle}
          known={knownDetails(dashboard)}
          read={async () => knownDetails(await readDashboard(projectId, dashboard.id))}
          change={change.mutateAsync}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  );
}

const knownDetails = (dashboard: Dashboard): KnownDetails => {
  const { name, description, tags, last_modified_at: at } = dashboard;
  return { details: { name, description, tags }, at };
};

interface HomeProps {
  dashboard: Dashboard;
  project: Project;
  disabled: boolean;
}

/** Makes the dashboard the home of the project, or ends that. */
function HomeItem({ dashboard, project, disabled }: HomeProps) {
  const change = useProjectChange(project);
  const before = project.primary_dashboard;
  const isHome = before === dashboard.id;
  const name = dashboard.name || words.untitled;
  const choose = () =>
    doAndSay(() => change.mutateAsync({ primary_dashboard: isHome ? null : dashboard.id }), {
      text: isHome ? words.noHome(name) : words.isHome(name),
      undo: () => change.mutateAsync({ primary_dashboard: before }),
    });
  return (
    <MenuItem icon={House} disabled={disabled} onSelect={() => void choose()}>
      {isHome ? words.dropHome : words.useAsHome}
    </MenuItem>
  );
}

function useDuplicate(dashboard: Dashboard) {
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const name = words.copyOf(dashboard.name || words.untitled);
  return useMutation({
    mutationFn: () => duplicateDashboard(projectId, dashboard, name),
    onSuccess: async (made) => {
      toast({ text: words.duplicated(name) });
      await navigate({
        to: "/project/$projectId/dashboards/$dashboardId",
        params: { projectId, dashboardId: String(made.id) },
      });
    },
    onError: toastError,
  });
}

/** A deletion can be undone for ten seconds in the toast, and later from the list of deleted
 * dashboards. */
function useDeletion(dashboard: Dashboard) {
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const change = useDashboardChange(dashboard.id);
  return async () => {
    const isDone = await doAndSay(() => change.mutateAsync({ deleted: true }), {
      text: words.removed(dashboard.name || words.untitled),
      undo: () => change.mutateAsync({ deleted: false }),
    });
    if (isDone) await navigate({ to: "/project/$projectId/dashboards", params: { projectId } });
  };
}
