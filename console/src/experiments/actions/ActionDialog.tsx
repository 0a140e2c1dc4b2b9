import type { ReactNode } from "react";
import { FormDialog } from "@/ui/Dialog";
import { toast } from "@/ui/Toast";
import type { Experiment } from "../queries";

export interface ActionDialogProps {
  experiment: Experiment;
  onClose: () => void;
}

interface Props<T> {
  texts: { title: string; about?: string };
  submit: string;
  /** Does it, and returns what the server answers. */
  act: () => Promise<T>;
  /** What is said then. */
  done: (answer: T) => string;
  action: { isPending: boolean; error: Error | null };
  /** Whether a field shows the error. */
  isErrorPlaced?: boolean;
  canSubmit?: boolean;
  isDanger?: boolean;
  onDone?: (answer: T) => void;
  onClose: () => void;
  children: ReactNode;
}

/** A dialog for one action, which closes when it is done and says so. */
export function ActionDialog<T>(props: Props<T>) {
  const { texts, action, onClose } = props;
  const submit = async () => {
    // The dialog shows the error of the action.
    const answer = await props.act().catch(() => null);
    if (answer === null) return;
    onClose();
    toast({ text: props.done(answer) });
    props.onDone?.(answer);
  };
  return (
    <FormDialog
      isOpen
      isDanger={props.isDanger ?? false}
      onClose={onClose}
      title={texts.title}
      {...(texts.about !== undefined && { description: texts.about })}
      submit={props.submit}
      canSubmit={props.canSubmit ?? true}
      isBusy={action.isPending}
      error={props.isErrorPlaced ? null : action.error}
      onSubmit={() => void submit()}
    >
      {props.children}
    </FormDialog>
  );
}
