import { type ReactNode, type RefObject, useLayoutEffect, useRef } from "react";
import { useTitle } from "@/lib/hooks";
import { classes } from "@/ui/classes";

interface PageProps {
  title: string;
  /** The title as an element, if it is more than text. */
  heading?: ReactNode;
  /** The link back to the list, above the title. */
  back?: ReactNode;
  /** One sentence below the title. */
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A screen: one heading, its actions, and what is below. */
export function Page({ title, heading, back, description, actions, children }: PageProps) {
  useTitle(title);
  const h1 = useRef<HTMLHeadingElement>(null);
  useFocusOfHeading(h1);
  return (
    <div className="mx-auto flex w-full max-w-7xl flex-col gap-4 px-4 py-5 sm:px-6">
      <header className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          {back && <div className="mb-1 text-sm">{back}</div>}
          <h1 ref={h1} tabIndex={-1} className="font-semibold text-xl outline-none">
            {heading ?? title}
          </h1>
          {description && <p className="mt-0.5 max-w-3xl text-ink-2">{description}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

// Whether the heading of the page that was replaced had the focus.
let hadFocus = false;

/** Move the focus from the heading of the loading state to that of the loaded page. */
function useFocusOfHeading(h1: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const heading = h1.current;
    if (hadFocus && document.activeElement === document.body)
      heading?.focus({ preventScroll: true });
    hadFocus = false;
    return () => {
      hadFocus = heading !== null && heading === document.activeElement;
    };
  }, [h1]);
}

interface CardProps {
  title?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  /** Leaves out the padding, for a table. */
  isFlush?: boolean;
  className?: string;
  children: ReactNode;
}

// The card has the border already.
const FLUSH =
  "[&_[data-box]]:rounded-t-none [&_[data-box]]:border-x-0 [&_[data-box]]:border-b-0 [&_[data-toolbar]]:px-4";

/** A part of a screen with its own heading. */
export function Card({ title, description, actions, isFlush, className, children }: CardProps) {
  const hasHead = Boolean(title || description || actions);
  return (
    <section className={classes("min-w-0 rounded-lg border border-line bg-panel", className)}>
      {hasHead && (
        <div className="flex flex-wrap items-start justify-between gap-2 px-4 pt-3 pb-2">
          {/* A long sentence wraps before the buttons move below it. */}
          <div className={classes("min-w-0", Boolean(description) && "flex-1 basis-64")}>
            {title && <h2 className="font-semibold">{title}</h2>}
            {description && <p className="text-ink-2 text-sm">{description}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
      )}
      <div
        className={classes(
          isFlush && FLUSH,
          !isFlush && "px-4 pb-4",
          !isFlush && !hasHead && "pt-4",
        )}
      >
        {children}
      </div>
    </section>
  );
}

/** Names with their values. */
export function Facts({
  facts,
}: {
  facts: readonly (readonly [name: ReactNode, value: ReactNode, key?: string])[];
}) {
  return (
    <dl className="grid grid-cols-[fit-content(45%)_1fr] items-baseline gap-x-4 gap-y-1.5">
      {facts.map(([name, value, key]) => (
        <div key={key ?? String(name)} className="contents">
          <dt className="min-w-28 text-ink-2">{name}</dt>
          <dd className="min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Text that looks and works as a link within a sentence, for use as a class name of a Link. */
export const LINK = "text-accent-text underline decoration-1 underline-offset-2 hover:decoration-2";
