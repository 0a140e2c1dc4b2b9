import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { classes, FLOATING } from "@/ui/classes";
import { DialogHead } from "@/ui/Dialog";
import { focusSheet, useFocusBack } from "@/ui/focus";

interface DrawerProps {
  onClose: () => void;
  title: string;
  /** One sentence below the title. */
  description?: ReactNode;
  children: ReactNode;
}

/** A sheet at the side, above the screen that it belongs to: it keeps the focus, and gives it back. */
export function Drawer({ onClose, ...content }: DrawerProps) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Content {...content} />
    </Radix.Root>
  );
}

function Content({ title, description, children }: Omit<DrawerProps, "onClose">) {
  const giveFocusBack = useFocusBack();
  return (
    <Radix.Portal>
      <Radix.Overlay className="fixed inset-0 z-40 bg-backdrop" />
      <Radix.Content
        {...(description ? {} : { "aria-describedby": undefined })}
        onOpenAutoFocus={focusSheet}
        onCloseAutoFocus={giveFocusBack}
        className={classes(
          FLOATING,
          "fixed inset-y-0 right-0 w-full max-w-3xl overflow-y-auto rounded-r-none border-y-0 border-r-0 p-5 outline-none",
        )}
      >
        <DialogHead title={title} description={description} />
        {children}
      </Radix.Content>
    </Radix.Portal>
  );
}
