import { useState } from "react";
import { errorOf } from "@/lib/errors";
import { TextAreaField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { words } from "@/words/experimentActions";
import { ActionDialog, type ActionDialogProps } from "./ActionDialog";
import { type Conclusion, useEnd } from "./queries";

const TEXTS = words.ending;
type Chosen = keyof typeof TEXTS.conclusions;
const CONCLUSIONS = (
  ["none", "won", "lost", "inconclusive", "stopped_early", "invalid"] as const
).map((value) => ({ value, label: TEXTS.conclusions[value] }));

/** Ends an experiment, with what it led to. */
export function EndDialog({ experiment, onClose }: ActionDialogProps) {
  const [conclusion, setConclusion] = useState<Chosen>("none");
  const [comment, setComment] = useState("");
  const end = useEnd(experiment.id);
  const misplaced = errorOf(end.error, "conclusion_comment");
  return (
    <ActionDialog
      texts={TEXTS}
      submit={TEXTS.submit}
      action={end}
      isErrorPlaced={misplaced !== undefined}
      act={() => end.mutateAsync(concluded(conclusion, comment))}
      done={() => words.done.ended}
      onClose={onClose}
    >
      <SelectField
        label={TEXTS.conclusion}
        value={conclusion}
        options={CONCLUSIONS}
        onChange={setConclusion}
      />
      <TextAreaField
        label={TEXTS.comment}
        isOptional
        value={comment}
        error={misplaced}
        onChange={({ target }) => setComment(target.value)}
      />
    </ActionDialog>
  );
}

export const concluded = (conclusion: Chosen, comment: string): Conclusion => ({
  ...(conclusion !== "none" && { conclusion }),
  ...(comment.trim() !== "" && { conclusion_comment: comment.trim() }),
});
