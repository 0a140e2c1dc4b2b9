import { type ReactNode, useEffect } from "react";
import { Sheet } from "@/ui/Dialog";

interface Props {
  name: string;
  /** Seconds from one refresh to the next; 0: never. */
  everyS: number;
  onRefresh: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Only the tiles, over the whole window, asked anew by interval: for a screen on a wall. */
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

function focusSheet(event: Event): void {
  event.preventDefault();
  if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus();
}
