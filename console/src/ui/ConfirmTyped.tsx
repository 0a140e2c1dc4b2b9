import { type ReactNode, useState } from "react";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { words } from "@/words/inputs";

export interface ConfirmTypedProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** The text that says what will be deleted. */
  children: ReactNode;
  /** The text that the user must type. */
  name: string;
  /** The label of the button, such as "Delete project". */
  submit: string;
  /** The dialog stays open: close it when it is done. */
  onConfirm: () => void;
  isBusy?: boolean;
  error?: unknown;
}

/** A confirmation of an action that cannot be undone: the name must be typed. */
export function ConfirmTyped({ name, onConfirm, children, ...dialog }: ConfirmTypedProps) {
  const [typed, setTyped] = useState("");
  const close = () => {
    setTyped("");
    dialog.onClose();
  };
  return (
    <FormDialog
      {...dialog}
      onClose={close}
      onSubmit={onConfirm}
      isDanger
      canSubmit={typed.trim() === name}
    >
      <div>{children}</div>
      <TextField
        label={
          <>
            {words.confirmTyped} <bdi className="select-all font-mono text-[0.9em]">{name}</bdi>
          </>
        }
        value={typed}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  );
}
