import type { ReactNode, RefObject } from "react";
import { lazyPart } from "@/ui/lazyPart";
import { words } from "@/words/dashboards";

/** A text in Markdown, whose reader is loaded with the first one. */
export const Markdown = lazyPart(
  "markdown",
  async () => (await import("@/ui/Markdown")).Markdown,
  2,
);

interface FrameProps {
  name: string;
  box?: RefObject<HTMLElement | null>;
  children: ReactNode;
}

/** The box of a text, on a dashboard and on a shared one. */
export const TextFrame = ({ name, box, children }: FrameProps) => (
  <article
    ref={box}
    aria-label={words.tile(name)}
    className="flex h-full min-w-0 flex-col rounded-lg border border-line bg-panel"
  >
    {children}
  </article>
);
