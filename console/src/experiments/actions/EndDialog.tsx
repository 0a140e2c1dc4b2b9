import { useState } from "react";
import { errorOf } from "@/lib/errors";
import { FormDialog } from "@/ui/Dialog";
import { TextAreaField } from "@/ui/Field";
import { SelectField } from "@/ui/Select";
import { toast } from "@/ui/Toast";
import { words } from "@/words/experimentActions";
import type { Experiment } from "../queries";
import { type Conclusion, useEnd } from "./queries";

const TEXTS = words.ending;
type Chosen = keyof typeof TEXTS.conclusions;
const CONCLUSIONS = (
  ["none", "won", "lost", "inconclusive", "stopped_early", "invalid"] as const
).map((value) => ({ value, label: TEXTS.conclusions[value] }));

/** Ends an experiment, with what it led to. */
export function EndDialog({
  experiment,
  onClose,
}: {
  experiment: Experiment;
  onClose: () => void;
}) {
  const [conclusion, setConclusion] = useState<Chosen>("none");
  const [comment, setComment] = useState("");
  const end = useEnd(experiment.id);
  const submit = () =>
    end.mutate(concluded(conclusion, comment), {
      onSuccess: () => {
        onClose();
        toast({ text: words.done.ended });
      },
    });
  const misplaced = errorOf(end.error, "conclusion_comment");
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={TEXTS.title}
      description={TEXTS.about}
      submit={TEXTS.submit}
      isBusy={end.isPending}
      error={misplaced === undefined ? end.error : null}
      onSubmit={submit}
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
    </FormDialog>
  );
}

export const concluded = (conclusion: Chosen, comment: string): Conclusion => ({
  ...(conclusion !== "none" && { conclusion }),
  ...(comment.trim() !== "" && { conclusion_comment: comment.trim() }),
});
