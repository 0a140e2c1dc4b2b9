import { useState } from "react";
import { describeError } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { toast } from "@/ui/Toast";
import { words } from "@/words/dashboards";
import { layoutsAt, storedBoxes } from "./layout";
import { type Dashboard, useDashboardChange } from "./queries";
import { isSavable, TextEditor } from "./TextEditor";
import { Markdown } from "./TextFrame";

const SIZE = { w: 6, h: 2 };

interface Props {
  dashboard: Dashboard;
  onClose: () => void;
}

/** Writes a text, with a preview, and puts it below the other tiles. */
export function AddText({ dashboard, onClose }: Props) {
  const [text, setText] = useState("");
  const change = useDashboardChange(dashboard.id);
  const submit = () => {
    if (!isSavable(text) || change.isPending) return;
    const y = Math.max(0, ...storedBoxes(dashboard.tiles).map((box) => box.y + box.h));
    const tile = { text: { body: text }, layouts: layoutsAt({ x: 0, y, ...SIZE }) };
    change.mutate(
      { tiles: [tile] },
      {
        onSuccess: () => {
          toast({ text: words.addedText });
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={words.addText}
      description={words.addTextHint}
      submit={words.add}
      canSubmit={isSavable(text)}
      isBusy={change.isPending}
      onSubmit={submit}
    >
      <TextEditor
        text={text}
        onChange={setText}
        onSave={submit}
        error={change.error === null ? undefined : describeError(change.error)}
      />
      {text.trim() !== "" && (
        <section
          aria-label={words.preview}
          className="max-h-60 overflow-auto rounded-md border border-line px-3 py-2"
        >
          <Markdown text={text} />
        </section>
      )}
    </FormDialog>
  );
}
