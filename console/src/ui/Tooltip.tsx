import { Tooltip as Radix } from "radix-ui";
import { type ReactNode, useRef, useState } from "react";
import { classes, FLOATING } from "@/ui/classes";
import { overlayContainer } from "@/ui/overlay";

/** Text beside what is pointed at or focused: never the only place where something is said. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const trigger = useRef<HTMLButtonElement>(null);
  return (
    <Radix.Root open={isOpen} onOpenChange={setOpen}>
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
