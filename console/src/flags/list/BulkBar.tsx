import { Power, PowerOff, Tag, Tags, Trash2, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "@/ui/Button";
import { FormDialog } from "@/ui/Dialog";
import { toast } from "@/ui/Toast";
import { words } from "@/words/flagList";
import type { FlagBody } from "../model";
import { type BulkAct, deleteAll, switchAll, tagAll } from "./bulk";
import { TagDialog } from "./TagDialog";

const TEXTS = words.bulk;

interface Props {
  projectId: string;
  /** The selected flags. */
  flags: readonly FlagBody[];
  /** The tags that any flag has. */
  knownTags: readonly string[];
  onClear: () => void;
}

type Risk = "on" | "off" | "delete";

/** More flags than these are changed only after a question. */
const UNASKED_MAX = 5;

const isRisk = (asked: string | null): asked is Risk =>
  asked === "on" || asked === "off" || asked === "delete";

/** The actions on all selected flags. */
export function BulkBar({ projectId, flags, knownTags, onClear }: Props) {
  const [progress, setProgress] = useState<number | null>(null);
  const [asks, setAsks] = useState<"add" | "remove" | Risk | null>(null);
  const editable = flags.filter((flag) => flag.can_edit);
  const isOff = editable.length < flags.length || progress !== null;

  const run = async (act: BulkAct) => {
    setAsks(null);
    setProgress(0);
    try {
      toast(await act(projectId, editable, setProgress));
    } finally {
      setProgress(null);
    }
  };
  const perform = (risk: Risk) => {
    const act = risk === "delete" ? deleteAll : switchAll(risk === "on");
    void run(act).then(risk === "delete" ? onClear : undefined);
  };
  const ask = (risk: Risk) => (editable.length > UNASKED_MAX ? setAsks(risk) : perform(risk));
  const own = new Set(flags.flatMap((flag) => flag.tags));
  return (
    <fieldset className="flex flex-wrap items-center gap-2" aria-label={TEXTS.group}>
      <Button small icon={Power} disabled={isOff} onClick={() => ask("on")}>
        {TEXTS.on}
      </Button>
      <Button small icon={PowerOff} disabled={isOff} onClick={() => ask("off")}>
        {TEXTS.off}
      </Button>
      <Button small icon={Tag} disabled={isOff} onClick={() => setAsks("add")}>
        {TEXTS.tag}
      </Button>
      <Button
        small
        icon={Tags}
        disabled={isOff || own.size === 0}
        onClick={() => setAsks("remove")}
      >
        {TEXTS.untag}
      </Button>
      <Button small look="danger" icon={Trash2} disabled={isOff} onClick={() => ask("delete")}>
        {TEXTS.delete}
      </Button>
      <IconButton icon={X} label={TEXTS.clear} onClick={onClear} className="size-7" />
      {editable.length < flags.length && (
        <span className="text-ink-3 text-sm">{words.noRightToSome}</span>
      )}
      {progress !== null && (
        <span role="status" className="text-ink-2 text-sm">
          {TEXTS.running(progress, editable.length)}
        </span>
      )}
      {isRisk(asks) && (
        <RiskDialog
          risk={asks}
          flags={editable}
          onClose={() => setAsks(null)}
          onConfirm={() => perform(asks)}
        />
      )}
      {(asks === "add" || asks === "remove") && (
        <TagDialog
          isAdding={asks === "add"}
          count={editable.length}
          options={asks === "add" ? knownTags : [...own].toSorted()}
          onClose={() => setAsks(null)}
          onSubmit={(tags) => void run(tagAll(tags, asks === "add"))}
        />
      )}
    </fieldset>
  );
}

interface RiskDialogProps {
  risk: Risk;
  flags: readonly FlagBody[];
  onClose: () => void;
  onConfirm: () => void;
}

/** Asks before many flags change, and says how many of them are on. */
function RiskDialog({ risk, flags, onClose, onConfirm }: RiskDialogProps) {
  const on = flags.filter((flag) => flag.active).length;
  return (
    <FormDialog
      isOpen
      isDanger={risk !== "on"}
      onClose={onClose}
      title={TEXTS.ask[risk](flags.length)}
      description={risk === "on" ? TEXTS.areOff(flags.length - on) : TEXTS.areOn(on)}
      submit={TEXTS[risk]}
      onSubmit={onConfirm}
    >
      <ul className="max-h-48 overflow-y-auto font-mono text-sm">
        {flags.slice(0, NAMED_MAX).map((flag) => (
          <li key={flag.id}>
            <bdi>{flag.key}</bdi>
          </li>
        ))}
        {flags.length > NAMED_MAX && <li>{TEXTS.more(flags.length - NAMED_MAX)}</li>}
      </ul>
    </FormDialog>
  );
}

const NAMED_MAX = 100;
