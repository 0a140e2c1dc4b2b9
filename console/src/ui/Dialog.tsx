import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type FormEvent, type KeyboardEvent, type ReactNode, useRef } from "react";
import { Button, IconButton } from "@/ui/Button";
import { classes, FLOATING } from "@/ui/classes";
import { useFocusBack } from "@/ui/focus";
import { ErrorNote } from "@/ui/States";
import { words } from "@/words/ui";

interface DialogProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** One sentence below the title. */
  description?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}

export function Dialog({ isOpen, wide, ...sheet }: DialogProps) {
  if (!isOpen) return null;
  return (
    <Sheet
      {...sheet}
      focusFirst={focusFirstField}
      className={classes(
        "fixed inset-x-0 top-[8vh] mx-auto outline-none max-h-[84vh] w-[calc(100vw-1.5rem)] overflow-y-auto p-5",
        wide ? "max-w-3xl" : "max-w-lg",
      )}
    />
  );
}

interface SheetProps extends Omit<DialogProps, "isOpen" | "wide"> {
  focusFirst: (event: Event) => void;
  className: string;
}

/** A sheet over the screen that traps focus and returns it on close. */
export function Sheet({ onClose, ...content }: SheetProps) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Content {...content} />
    </Radix.Root>
  );
}

function Content(props: Omit<SheetProps, "onClose">) {
  const { title, description, focusFirst, className, children } = props;
  const giveFocusBack = useFocusBack();
  return (
    <Radix.Portal>
      <Radix.Overlay className="fixed inset-0 z-40 bg-backdrop" />
      <Radix.Content
        {...(description ? {} : { "aria-describedby": undefined })}
        onOpenAutoFocus={focusFirst}
        onCloseAutoFocus={giveFocusBack}
        className={classes(FLOATING, className)}
      >
        <SheetHead title={title} description={description} />
        {children}
      </Radix.Content>
    </Radix.Portal>
  );
}

/** The title, and the button that closes the sheet. */
function SheetHead({ title, description }: Pick<DialogProps, "title" | "description">) {
  return (
    <div className="mb-4 flex items-start justify-between gap-4">
      <div className="min-w-0">
        <Radix.Title className="font-semibold text-lg">{title}</Radix.Title>
        {description && (
          <Radix.Description className="mt-1 text-ink-2">{description}</Radix.Description>
        )}
      </div>
      <Radix.Close asChild>
        <IconButton icon={X} label={words.close} className="-mt-1 -mr-2" />
      </Radix.Close>
    </div>
  );
}

const FIELD = "input, select, textarea, [role=combobox]";
// Marks the button of a dialog that only shows what will be done, so that it gets the focus.
const CONFIRMS = "data-confirms";

/** The first field, what confirms, or the dialog itself: not the button that closes it. */
function focusFirstField(event: Event): void {
  event.preventDefault();
  if (!(event.currentTarget instanceof HTMLElement)) return;
  const found =
    event.currentTarget.querySelector<HTMLElement>(FIELD) ??
    event.currentTarget.querySelector<HTMLElement>(`[${CONFIRMS}]`);
  (found ?? event.currentTarget).focus();
}

/** The time after which the button is shown as busy. Until then, further presses are ignored. */
const BUSY_MS = 50;

function sendByKeys(event: KeyboardEvent<HTMLFormElement>) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

interface FormDialogProps extends DialogProps {
  submit: string;
  onSubmit: () => void;
  isBusy?: boolean;
  isDanger?: boolean;
  canSubmit?: boolean;
  /** The error of the last attempt, shown above the buttons. */
  error?: unknown;
}

/** A dialog with a form, submitted by its button, Enter in a field, or Ctrl+Enter anywhere. */
export function FormDialog(props: FormDialogProps) {
  const {
    submit,
    onSubmit,
    isBusy = false,
    isDanger,
    canSubmit = true,
    error,
    children,
    ...dialog
  } = props;
  const isSent = useRef(false);
  const send = (event: FormEvent) => {
    event.preventDefault();
    // A dialog may be drawn within the form of a screen.
    event.stopPropagation();
    if (!canSubmit || isBusy || isSent.current) return;
    isSent.current = true;
    setTimeout(() => {
      isSent.current = false;
    }, BUSY_MS);
    onSubmit();
  };
  return (
    <Dialog {...dialog}>
      <form onSubmit={send} onKeyDown={sendByKeys} className="flex flex-col gap-4">
        {children}
        {error ? <ErrorNote error={error} /> : null}
        <div className="flex justify-end gap-2">
          <Button onClick={dialog.onClose}>{words.cancel}</Button>
          <Button
            type="submit"
            look={isDanger ? "danger" : "primary"}
            isBusy={isBusy}
            disabled={!canSubmit}
            {...(isDanger ? {} : { [CONFIRMS]: "" })}
          >
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
