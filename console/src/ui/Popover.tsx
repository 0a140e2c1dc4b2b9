import { Popover as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { classes, FLOATING } from "@/ui/classes";

interface PopoverProps {
  /** One element that takes a ref: a Button or an IconButton. */
  trigger: ReactNode;
  /** Its name, for those who do not see it. */
  label: string;
  isOpen?: boolean;
  onOpenChange?: (isOpen: boolean) => void;
  align?: "start" | "center" | "end";
  className?: string;
  children: ReactNode;
}

export function Popover(props: PopoverProps) {
  const { trigger, label, isOpen, onOpenChange, align = "start", className, children } = props;
  return (
    <Radix.Root
      {...(isOpen === undefined ? {} : { open: isOpen })}
      {...(onOpenChange === undefined ? {} : { onOpenChange })}
    >
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          aria-label={label}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className={classes(
            FLOATING,
            "max-h-[70vh] max-w-[calc(100vw-1rem)] overflow-y-auto p-3",
            className,
          )}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
