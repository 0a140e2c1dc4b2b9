import { AlertDialog } from "radix-ui";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { words } from "@/words/inputs";

export interface ConfirmTypedProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  /** What will be gone. */
  children: ReactNode;
  /** What must be typed. */
  name: string;
  /** Of the button, such as "Delete the project". */
  action: string;
  /** The dialog stays until it is done, and when it fails. */
  onConfirm: () => void | Promise<void>;
  isBusy?: boolean;
  error?: string | undefined;
}

/** Asks before what cannot be taken back: the name must be typed. */
export function ConfirmTyped(props: ConfirmTypedProps) {
  return (
    <AlertDialog.Root open={props.open} onOpenChange={props.onOpenChange}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="fixed inset-0 z-40 bg-ink/40" />
        <AlertDialog.Content className="fixed top-1/2 left-1/2 z-50 max-h-[90dvh] w-[min(30rem,94vw)] -translate-x-1/2 -translate-y-1/2 overflow-y-auto rounded-xl border border-line bg-panel p-5 shadow-float">
          <Form {...props} />
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

function Form(props: ConfirmTypedProps) {
  const { name, isBusy = false, error } = props;
  const id = useId();
  const [typed, setTyped] = useState("");
  const isSame = typed.trim() === name;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isSame && !isBusy) void props.onConfirm();
  };
  return (
    <form className="flex flex-col gap-3" onSubmit={submit}>
      <AlertDialog.Title className="text-[1.0625rem] font-semibold">
        {props.title}
      </AlertDialog.Title>
      <AlertDialog.Description asChild>
        <div className="text-ink-2">{props.children}</div>
      </AlertDialog.Description>
      <label className="flex flex-col gap-1" htmlFor={id}>
        <bdi>{words.confirmTyped(name)}</bdi>
        <input
          id={id}
          type="text"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          aria-describedby={error === undefined ? undefined : `${id}-error`}
          onChange={(event) => setTyped(event.target.value)}
          className="h-8 rounded-md border border-line-strong bg-panel px-2"
        />
      </label>
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="text-bad">
          {error}
        </p>
      )}
      <div className="flex justify-end gap-2">
        <AlertDialog.Cancel className="h-8 rounded-md border border-line-strong px-3 hover:bg-sunken">
          {words.cancel}
        </AlertDialog.Cancel>
        <button
          type="submit"
          disabled={!isSame || isBusy}
          className="h-8 rounded-md bg-bad px-3 font-medium text-panel disabled:opacity-50"
        >
          {props.action}
        </button>
      </div>
    </form>
  );
}
