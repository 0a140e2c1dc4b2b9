import type { ReactNode } from "react";
import { Sheet } from "@/ui/Dialog";
import { focusSheet } from "@/ui/focus";

interface DrawerProps {
  onClose: () => void;
  title: string;
  /** One sentence below the title. */
  description?: ReactNode;
  children: ReactNode;
}

/** A sheet at the side of the screen. */
export function Drawer(props: DrawerProps) {
  return (
    <Sheet
      {...props}
      focusFirst={focusSheet}
      className="fixed inset-y-0 right-0 w-full max-w-3xl overflow-y-auto rounded-r-none border-y-0 border-r-0 p-5 outline-none"
    />
  );
}
