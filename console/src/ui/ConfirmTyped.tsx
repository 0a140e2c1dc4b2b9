import { type ReactNode, useState } from "react";
import { FormDialog } from "@/ui/Dialog";
import { TextField } from "@/ui/Field";
import { words } from "@/words/inputs";

export interface ConfirmTypedProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** What will be gone. */
  children: ReactNode;
  /** What must be typed. */
  name: string;
  /** Of the button, such as "Delete the project". */
  submit: string;
  /** The dialog stays open: close it when it is done. */
  onConfirm: () => void;
  isBusy?: boolean;
  error?: unknown;
}

/** Asks before what cannot be taken back: the name must be typed. */
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
