import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";

/** A section that is collapsed until opened. */
export function Disclosure({ summary, children }: { summary: string; children: ReactNode }) {
  return (
    <details className="group/more">
      <summary className="inline-flex cursor-pointer list-none items-center gap-1 text-accent-text text-sm [&::-webkit-details-marker]:hidden">
        <ChevronRight aria-hidden className="size-4 group-open/more:rotate-90" />
        {summary}
      </summary>
      <div className="mt-1">{children}</div>
    </details>
  );
}
