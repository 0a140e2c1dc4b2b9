import { X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { useSyncExternalStore } from "react";
import { ApiError, describeError } from "@/lib/errors";
import { Button, IconButton } from "@/ui/Button";
import { classes, FLOATING } from "@/ui/classes";
import { words } from "@/words/ui";

interface ToastText {
  text: string;
  isError?: boolean;
  /** Takes back what was done. */
  undo?: () => unknown;
}

interface Shown extends ToastText {
  id: number;
}

const SHOWN_MS = 10_000;
const SHOWN_MAX = 4;
let shown: readonly Shown[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Shown[]): void {
  shown = next;
  for (const listener of listeners) listener();
}

/** Says what was done, for ten seconds, with a way back where there is one. */
export function toast(text: ToastText): void {
  lastId += 1;
  change([...shown, { ...text, id: lastId }].slice(-SHOWN_MAX));
}

export function toastError(error: unknown): void {
  const said = describeError(error);
  // Whether something was changed is not always known.
  const isFailure = !(error instanceof ApiError && error.isUnreachable);
  toast({ text: isFailure ? `${words.saveFailed}: ${said}` : said, isError: true });
}

/** Do something and say what was done, or why it failed.
 *
 * returns: whether it was done
 */
export async function doAndSay(act: () => Promise<unknown>, done: ToastText): Promise<boolean> {
  try {
    await act();
  } catch (error) {
    toastError(error);
    return false;
  }
  toast(done);
  return true;
}

function dismiss(id: number): void {
  change(shown.filter((one) => one.id !== id));
}

async function undo(one: Shown): Promise<void> {
  dismiss(one.id);
  try {
    await one.undo?.();
  } catch (error) {
    toastError(error);
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Drawn once, by the shell. */
export function Toasts() {
  const toasts = useSyncExternalStore(subscribe, () => shown);
  return (
    <Radix.Provider label={words.notifications} swipeDirection="right">
      {toasts.map((one) => (
        <Radix.Root
          key={one.id}
          duration={SHOWN_MS}
          type={one.isError ? "foreground" : "background"}
          onOpenChange={(open) => !open && dismiss(one.id)}
          className={classes(
            FLOATING,
            "flex animate-[appear_120ms_ease] items-center gap-3 px-3 py-2",
            one.isError && "border-bad",
          )}
        >
          <Radix.Description className={classes("min-w-0 grow", one.isError && "text-bad")}>
            {one.text}
          </Radix.Description>
          {one.undo && (
            <Radix.Action asChild altText={words.undo}>
              <Button small onClick={() => void undo(one)}>
                {words.undo}
              </Button>
            </Radix.Action>
          )}
          <Radix.Close asChild>
            <IconButton icon={X} label={words.dismiss} />
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport
        // Above the bar with the buttons that save, which stays at the bottom; on a phone that is tall.
        className="fixed right-4 bottom-4 z-50 flex w-96 max-w-[calc(100vw-2rem)] flex-col gap-2 [body:has([data-save-bar])_&]:bottom-28 max-sm:[body:has([data-save-bar])_&]:top-14 max-sm:[body:has([data-save-bar])_&]:bottom-auto"
      />
    </Radix.Provider>
  );
}
