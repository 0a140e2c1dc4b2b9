import { useNavigate } from "@tanstack/react-router";
import {
  Archive,
  ArchiveRestore,
  CalendarClock,
  Copy,
  Ellipsis,
  Pause,
  Play,
  RotateCcw,
  Ship,
  Square,
  Trash2,
} from "lucide-react";
import { type ComponentType, useState } from "react";
import { useCanEdit, useProjectId } from "@/app/session";
import { Button, IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { doAndSay, toast, toastError } from "@/ui/Toast";
import { words as texts } from "@/words/experimentActions";
import { words } from "@/words/experiments";
import { CopyDialog } from "./actions/CopyDialog";
import { EndDialog } from "./actions/EndDialog";
import { PlanDialog } from "./actions/PlanDialog";
import { ResetDialog } from "./actions/ResetDialog";
import { ShipDialog } from "./actions/ShipDialog";
import { type Experiment, type Step, useExperimentChange, useExperimentStep } from "./queries";

type DialogName = "end" | "ship" | "plan" | "reset" | "copy";
const DIALOGS: Readonly<
  Record<DialogName, ComponentType<{ experiment: Experiment; onClose: () => void }>>
> = { end: EndDialog, ship: ShipDialog, plan: PlanDialog, reset: ResetDialog, copy: CopyDialog };

/** What can be done with an experiment in its state. */
export function ExperimentActions({ experiment }: { experiment: Experiment }) {
  const canEdit = useCanEdit();
  const [opened, setOpened] = useState<DialogName | null>(null);
  const step = useExperimentStep(experiment.id);
  const take = (name: Step, said: string) =>
    step.mutate(name, { onSuccess: () => toast({ text: said }), onError: toastError });
  const Dialog = opened === null ? null : DIALOGS[opened];
  return (
    <>
      <MainAction
        experiment={experiment}
        canEdit={canEdit}
        isBusy={step.isPending}
        onStep={take}
        onOpen={setOpened}
      />
      <Further experiment={experiment} canEdit={canEdit} onStep={take} onOpen={setOpened} />
      {Dialog !== null && <Dialog experiment={experiment} onClose={() => setOpened(null)} />}
    </>
  );
}

interface Props {
  experiment: Experiment;
  canEdit: boolean;
  onStep: (step: Step, said: string) => void;
  onOpen: (dialog: DialogName) => void;
}

/** What one does next in the state of the experiment. */
function MainAction({ experiment, canEdit, isBusy, onStep, onOpen }: Props & { isBusy: boolean }) {
  const { status, name } = experiment;
  const common = {
    disabled: !canEdit,
    title: canEdit ? undefined : words.viewerHint,
    isBusy,
  };
  if (status === "draft") {
    const launch = () => onStep("launch", words.launched(name));
    return (
      <Button {...common} look="primary" icon={Play} onClick={launch}>
        {words.launch}
      </Button>
    );
  }
  if (status === "paused") {
    const resume = () => onStep("resume", texts.done.resume);
    return (
      <Button {...common} look="primary" icon={Play} onClick={resume}>
        {texts.resume}
      </Button>
    );
  }
  return (
    <Button {...common} icon={Ship} onClick={() => onOpen("ship")}>
      {texts.ship}
    </Button>
  );
}

function Further({ experiment, canEdit, onStep, onOpen }: Props) {
  const { status, archived } = experiment;
  const isLive = status === "running" || status === "paused";
  const isStopped = status === "stopped";
  const { keepRunning, remove } = useChanges(experiment);
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={texts.more} look="default" />}>
      {isLive && (
        <MenuItem icon={Square} disabled={!canEdit} onSelect={() => onOpen("end")}>
          {texts.end}
        </MenuItem>
      )}
      {status === "running" && (
        <MenuItem
          icon={Pause}
          disabled={!canEdit}
          onSelect={() => onStep("pause", texts.done.pause)}
        >
          {texts.pause}
        </MenuItem>
      )}
      {status === "paused" && (
        <MenuItem icon={Ship} disabled={!canEdit} onSelect={() => onOpen("ship")}>
          {texts.ship}
        </MenuItem>
      )}
      {isLive && (
        <MenuItem icon={CalendarClock} disabled={!canEdit} onSelect={() => onOpen("plan")}>
          {texts.extend}
        </MenuItem>
      )}
      {isStopped && (
        <MenuItem icon={Play} disabled={!canEdit} onSelect={keepRunning}>
          {texts.keepRunning}
        </MenuItem>
      )}
      {isStopped && (
        <MenuItem
          icon={archived ? ArchiveRestore : Archive}
          disabled={!canEdit}
          onSelect={() =>
            archived
              ? onStep("unarchive", texts.done.unarchive)
              : onStep("archive", texts.done.archive)
          }
        >
          {archived ? texts.unarchive : texts.archive}
        </MenuItem>
      )}
      <MenuItem icon={Copy} disabled={!canEdit} onSelect={() => onOpen("copy")}>
        {texts.duplicate}
      </MenuItem>
      {status !== "draft" && (
        <MenuItem icon={RotateCcw} disabled={!canEdit} onSelect={() => onOpen("reset")}>
          {texts.reset}
        </MenuItem>
      )}
      <MenuItem icon={Trash2} isDanger disabled={!canEdit} onSelect={() => void remove()}>
        {texts.remove}
      </MenuItem>
    </Menu>
  );
}

/** The changes of an experiment that a toast can take back. */
function useChanges(experiment: Experiment) {
  const projectId = useProjectId();
  const navigate = useNavigate();
  const change = useExperimentChange(experiment.id);
  const { name, version } = experiment;
  const keepRunning = () => {
    const cleared = { end_date: null, conclusion: null, conclusion_comment: null };
    const before = {
      end_date: experiment.end_date ?? null,
      conclusion: experiment.conclusion ?? null,
      conclusion_comment: experiment.conclusion_comment ?? null,
    };
    void doAndSay(() => change.mutateAsync({ ...cleared, version }), {
      text: texts.done.keptRunning,
      undo: () => change.mutateAsync(before),
    });
  };
  /** A deletion can be undone for ten seconds in the toast. */
  const remove = async () => {
    const isDone = await doAndSay(() => change.mutateAsync({ deleted: true }), {
      text: texts.done.removed(name),
      undo: () => change.mutateAsync({ deleted: false }),
    });
    if (isDone) await navigate({ to: "/project/$projectId/experiments", params: { projectId } });
  };
  return { keepRunning, remove };
}
