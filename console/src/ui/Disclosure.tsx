import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";

interface Props {
  summary: string;
  /** Whether it is open at first. */
  isOpen?: boolean;
  children: ReactNode;
}

/** A section that is collapsed until opened. */
export function Disclosure({ summary, isOpen = false, children }: Props) {
  return (
    <details open={isOpen} className="group/more">
      <summary className="inline-flex cursor-pointer list-none items-center gap-1 text-accent-text text-sm [&::-webkit-details-marker]:hidden [details[open]>&>svg]:rotate-90">
        <ChevronRight aria-hidden className="size-4" />
        {summary}
      </summary>
      <div className="mt-1">{children}</div>
    </details>
  );
}
