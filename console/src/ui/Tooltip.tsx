import { Tooltip as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { classes, FLOATING } from "@/ui/classes";

/** Text beside what is pointed at or focused: never the only place where something is said. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactNode }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={5}
          collisionPadding={8}
          className={classes(FLOATING, "max-w-80 px-2 py-1 text-sm")}
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export const TooltipProvider = Radix.Provider;
