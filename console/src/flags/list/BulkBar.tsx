import { Power, PowerOff, Tag, Tags, Trash2, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "@/ui/Button";
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

/** The actions on all selected flags. */
export function BulkBar({ projectId, flags, knownTags, onClear }: Props) {
  const [progress, setProgress] = useState<number | null>(null);
  const [asks, setAsks] = useState<"add" | "remove" | null>(null);
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
  const own = new Set(flags.flatMap((flag) => flag.tags));
  return (
    <fieldset className="flex flex-wrap items-center gap-2" aria-label={TEXTS.group}>
      <Button small icon={Power} disabled={isOff} onClick={() => void run(switchAll(true))}>
        {TEXTS.on}
      </Button>
      <Button small icon={PowerOff} disabled={isOff} onClick={() => void run(switchAll(false))}>
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
      <Button
        small
        look="danger"
        icon={Trash2}
        disabled={isOff}
        onClick={() => void run(deleteAll).then(onClear)}
      >
        {TEXTS.delete}
      </Button>
      <IconButton icon={X} label={TEXTS.clear} onClick={onClear} className="size-7" />
      {editable.length < flags.length && (
        <span className="text-ink-3 text-sm">{words.noRight}</span>
      )}
      {progress !== null && (
        <span role="status" className="text-ink-2 text-sm">
          {TEXTS.running(progress, editable.length)}
        </span>
      )}
      {asks !== null && (
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
