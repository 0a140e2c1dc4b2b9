import { getRouteApi } from "@tanstack/react-router";
import { Copy, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { Button, IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { doAndSay, toast, toastError } from "@/ui/Toast";
import { nameOfInsight, words } from "@/words/insightsSaved";
import { AddToDashboard } from "./AddToDashboard";
import { EditDetails, type KnownDetails } from "./EditDetails";
import {
  type Insight,
  type InsightChanges,
  type NewInsight,
  readInsight,
  useInsightChange,
  useInsightCreation,
} from "./queries";

const route = getRouteApi("/signed-in/project/$projectId/insights/$insightId");

/** The actions of a saved insight. */
export function SavedActions({ insight }: { insight: Insight }) {
  const canEdit = useCanEdit();
  const projectId = useProjectId();
  const [isEditing, setEditing] = useState(false);
  const change = useChange(insight);
  const duplicate = useDuplicate(insight);
  const remove = useDeletion(insight);
  const hint = canEdit ? undefined : words.viewerHint;
  return (
    <>
      <AddToDashboard
        shownOn={insight.dashboards}
        onChange={(dashboards) => change({ dashboards })}
      />
      <Button icon={Pencil} disabled={!canEdit} title={hint} onClick={() => setEditing(true)}>
        {words.edit}
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label={words.more} look="default" />}>
        <MenuItem icon={Copy} disabled={!canEdit} onSelect={() => void duplicate()}>
          {words.duplicate}
        </MenuItem>
        <MenuItem icon={Trash2} isDanger disabled={!canEdit} onSelect={() => void remove()}>
          {words.remove}
        </MenuItem>
      </Menu>
      {isEditing && (
        <EditDetails
          title={words.editTitle}
          known={knownDetails(insight)}
          read={async () => knownDetails(await readInsight(projectId, insight.id))}
          change={change}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  );
}

type Change = (changes: InsightChanges) => Promise<Insight>;

/** Updates the insight, and rebases unsaved changes to its question on the new version. */
function useChange(insight: Insight): Change {
  const navigate = route.useNavigate();
  const change = useInsightChange(insight.id);
  return async (changes) => {
    const changed = await change.mutateAsync(changes);
    await navigate({
      search: (before) =>
        before.draft === insight.last_modified_at
          ? { ...before, draft: changed.last_modified_at }
          : before,
      replace: true,
      resetScroll: false,
    });
    return changed;
  };
}

const knownDetails = ({
  name,
  description,
  tags,
  last_modified_at: at,
}: Insight): KnownDetails => ({
  details: { name: name ?? "", description, tags },
  at,
});

function useDuplicate(insight: Insight) {
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const creation = useInsightCreation();
  return async () => {
    const { description, tags, filters, query } = insight;
    const name = words.copyOf(nameOfInsight(insight));
    try {
      const asked = (query === null ? { filters } : { query }) as NewInsight;
      const made = await creation.mutateAsync({ ...asked, name, description, tags, saved: true });
      toast({ text: words.duplicated(name) });
      await navigate({
        to: "/project/$projectId/insights/$insightId",
        params: { projectId, insightId: String(made.id) },
      });
    } catch (error) {
      toastError(error);
    }
  };
}

/** A deletion can be undone for ten seconds in the toast, and later from the list of deleted
 * insights. */
function useDeletion(insight: Insight) {
  const projectId = useProjectId();
  const navigate = route.useNavigate();
  const change = useInsightChange(insight.id);
  return async () => {
    const isDone = await doAndSay(() => change.mutateAsync({ deleted: true }), {
      text: words.removed(nameOfInsight(insight)),
      undo: () => change.mutateAsync({ deleted: false }),
    });
    if (isDone) await navigate({ to: "/project/$projectId/insights", params: { projectId } });
  };
}
