import { Tooltip as Radix } from "radix-ui";
import { type ReactNode, useRef, useState } from "react";
import { classes, FLOATING } from "@/ui/classes";
import { overlayContainer } from "./classes";

/** Text beside what is pointed at or focused: never the only place where something is said. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const trigger = useRef<HTMLButtonElement>(null);
  const closing = useRef<ReturnType<typeof setTimeout>>(undefined);
  // An element that goes while the focus is on its way to another makes a dialog take the focus.
  const change = (isOpening: boolean) => {
    clearTimeout(closing.current);
    if (isOpening) setOpen(true);
    else closing.current = setTimeout(() => setOpen(false));
  };
  return (
    <Radix.Root open={isOpen} onOpenChange={change}>
      <Radix.Trigger asChild ref={trigger}>
        {children}
      </Radix.Trigger>
      {isOpen && (
        <Radix.Portal container={overlayContainer(trigger.current)}>
          <Radix.Content
            sideOffset={5}
            collisionPadding={8}
            className={classes(FLOATING, "max-w-80 px-2 py-1 text-sm")}
          >
            {text}
          </Radix.Content>
        </Radix.Portal>
      )}
    </Radix.Root>
  );
}

export const TooltipProvider = Radix.Provider;
