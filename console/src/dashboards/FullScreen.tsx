import { type ReactNode, useEffect } from "react";
import { Sheet } from "@/ui/Dialog";
import { focusSheet } from "@/ui/focus";

interface Props {
  name: string;
  /** Seconds between refreshes; 0 means never. */
  everyS: number;
  onRefresh: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Shows only the tiles in the whole window, refreshed on an interval, for a wall-mounted screen. */
export function FullScreen({ name, everyS, onRefresh, onClose, children }: Props) {
  useEffect(() => {
    if (everyS === 0) return;
    const timer = setInterval(onRefresh, everyS * 1000);
    return () => clearInterval(timer);
  }, [everyS, onRefresh]);
  return (
    <Sheet
      title={name}
      onClose={onClose}
      focusFirst={focusSheet}
      className="fixed inset-0 overflow-y-auto rounded-none border-0 bg-canvas p-4 outline-none"
    >
      {children}
    </Sheet>
  );
}
