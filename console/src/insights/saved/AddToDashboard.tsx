import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, LayoutDashboard, Plus } from "lucide-react";
import { useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import {
  createDashboard,
  type DashboardSummary,
  dashboardsQuery,
  isGenerated,
} from "@/lib/dashboardList";
import { Button } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { Menu, MenuItem, MenuLine } from "@/ui/Menu";
import { toast, toastError } from "@/ui/Toast";
import { words } from "@/words/insightsSaved";

interface Props {
  /** Ids of the dashboards that show the insight. */
  shownOn: readonly number[];
  /** Sets exactly which dashboards show the insight. */
  onChange: (dashboards: number[]) => Promise<unknown>;
  disabled?: boolean;
}

/** A menu of dashboards; choosing one adds or removes the insight. */
export function AddToDashboard({ shownOn, onChange, disabled = false }: Props) {
  const projectId = useProjectId();
  const canEdit = useCanEdit();
  const listed = useQuery(dashboardsQuery(projectId)).data ?? [];
  const [isNaming, setNaming] = useState(false);
  const offered = listed.filter((one) => !isGenerated(one) || shownOn.includes(one.id));
  const toggle = async (dashboard: DashboardSummary) => {
    const isOn = shownOn.includes(dashboard.id);
    const name = dashboard.name || words.untitledDashboard;
    const next = isOn ? shownOn.filter((id) => id !== dashboard.id) : [...shownOn, dashboard.id];
    try {
      await onChange(next);
    } catch (error) {
      toastError(error);
      return;
    }
    const undo = isOn ? { undo: () => onChange([...shownOn]) } : {};
    toast({ text: isOn ? words.removedFrom(name) : words.addedTo(name), ...undo });
  };
  return (
    <>
      <Menu
        trigger={
          <Button
            icon={LayoutDashboard}
            disabled={disabled || !canEdit}
            title={canEdit ? undefined : words.viewerHint}
          >
            {words.addToDashboard}
          </Button>
        }
      >
        {offered.map((one) => (
          <MenuItem
            key={one.id}
            icon={shownOn.includes(one.id) ? Check : LayoutDashboard}
            onSelect={() => void toggle(one)}
          >
            <bdi className="truncate">
              {shownOn.includes(one.id)
                ? words.removeFromDashboard(one.name || words.untitledDashboard)
                : one.name || words.untitledDashboard}
            </bdi>
          </MenuItem>
        ))}
        {offered.length > 0 && <MenuLine />}
        <MenuItem icon={Plus} onSelect={() => setNaming(true)}>
          {words.newDashboard}
        </MenuItem>
      </Menu>
      {isNaming && (
        <NewDashboardDialog
          onClose={() => setNaming(false)}
          onCreated={(id) => onChange([...shownOn, id])}
        />
      )}
    </>
  );
}

interface DialogProps {
  onClose: () => void;
  onCreated: (id: number) => Promise<unknown>;
}

function NewDashboardDialog({ onClose, onCreated }: DialogProps) {
  const projectId = useProjectId();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    try {
      const made = await createDashboard(projectId, { name: name.trim() });
      await onCreated(made.id);
      void queries.invalidateQueries({ queryKey: ["dashboards", projectId] });
      toast({ text: words.addedTo(made.name || words.untitledDashboard) });
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.newDashboard}
      submit={words.create}
      canSubmit={name.trim() !== ""}
      isBusy={isBusy}
      error={error}
      onSubmit={() => void submit()}
    >
      <TextField
        label={words.dashboardName}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  );
}
