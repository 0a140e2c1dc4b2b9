import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useProjectId } from "@/app/session";
import { api, dataOf } from "@/lib/api";
import { prefix } from "@/lib/prefix";
import { Button } from "@/ui/Button";
import { Code } from "@/ui/Copy";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/States";
import { toast } from "@/ui/Toast";
import { words } from "@/words/dashboards";
import { type Dashboard, dashboardKeys } from "./queries";

interface Props {
  dashboard: Dashboard;
  onClose: () => void;
}

/** Creates a link that shows the dashboard to anyone who has it, displays it once, and revokes it. */
export function ShareDialog({ dashboard, onClose }: Props) {
  const { sharing, withdrawal } = useSharing(dashboard);
  const path = sharing.data?.path;
  const isShared = dashboard.is_shared || path !== undefined;
  const withdraw = () =>
    withdrawal.mutate(undefined, {
      onSuccess: () => {
        toast({ text: words.withdrawn });
        onClose();
      },
    });
  const error = sharing.error ?? withdrawal.error;
  return (
    <Dialog isOpen onClose={onClose} title={words.shareTitle} description={words.shareHint}>
      <div className="flex min-w-0 flex-col gap-4">
        {path !== undefined && (
          <div className="flex min-w-0 flex-col gap-1">
            <Code text={location.origin + prefix + path} what={words.link} />
            <p role="status" className="text-ink-2">
              {words.linkOnce}
            </p>
          </div>
        )}
        {path === undefined && isShared && <p>{words.hasLink}</p>}
        {error !== null && <ErrorNote error={error} />}
        <div className="flex flex-wrap justify-end gap-2">
          {isShared && (
            <Button isBusy={withdrawal.isPending} onClick={withdraw}>
              {words.withdraw}
            </Button>
          )}
          {path === undefined && (
            <Button
              look="primary"
              data-confirms
              isBusy={sharing.isPending}
              onClick={() => sharing.mutate()}
            >
              {isShared ? words.newLink : words.createLink}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function useSharing({ id }: Dashboard) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const params = { params: { path: { project_id: projectId, id } } };
  const path = "/api/projects/{project_id}/dashboards/{id}/share/";
  const onSuccess = () =>
    void queries.invalidateQueries({ queryKey: dashboardKeys.all(projectId) });
  return {
    sharing: useMutation({ mutationFn: () => dataOf(api.POST(path, params)), onSuccess }),
    withdrawal: useMutation({ mutationFn: () => dataOf(api.DELETE(path, params)), onSuccess }),
  };
}
