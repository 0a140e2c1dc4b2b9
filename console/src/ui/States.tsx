import { CircleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { describeError } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { words } from "@/words/ui";

interface EmptyProps {
  icon?: LucideIcon;
  title: string;
  /** One sentence, a snippet, a button: an empty screen teaches. */
  children?: ReactNode;
}

export function Empty({ icon: Icon, title, children }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-3 px-4 py-12 text-center">
      {Icon && <Icon aria-hidden className="size-8 text-ink-3" />}
      <h2 className="font-semibold text-lg">{title}</h2>
      {children && (
        <div className="flex w-full max-w-xl flex-col items-center gap-3 text-ink-2">
          {children}
        </div>
      )}
    </div>
  );
}

interface FailedProps {
  error: unknown;
  onRetry?: () => void;
  /** The name of the button. */
  retry?: string;
}

/** The error of a screen, or a part of it, that could not be loaded. */
export function Failed({ error, onRetry, retry = words.retry }: FailedProps) {
  return (
    <div
      role="alert"
      className="flex flex-col items-start gap-2 rounded-lg border border-bad bg-bad-soft p-4"
    >
      <p className="flex items-center gap-2 font-medium text-bad">
        <CircleAlert aria-hidden className="size-4 shrink-0" />
        {words.failed}
      </p>
      <p>{describeError(error)}</p>
      {onRetry && (
        <Button small onClick={onRetry}>
          {retry}
        </Button>
      )}
    </div>
  );
}

/** The error of a user's action, shown beside its control. */
export function ErrorNote({ error }: { error: unknown }) {
  return (
    <p role="alert" className="whitespace-pre-line rounded-md bg-bad-soft px-3 py-2 text-bad">
      {describeError(error)}
    </p>
  );
}

/** A placeholder for content that is being loaded. It moves only when that takes long: without a
 * graphics card, a screen full of moving lines takes a third of a core from the answer. rows: its
 * number of lines */
export function Skeleton({ rows = 3, className }: { rows?: number; className?: string }) {
  return (
    <div role="status" aria-busy className={classes("flex flex-col gap-2", className)}>
      <span className="sr-only">{words.loading}</span>
      {Array.from({ length: rows }, (_, row) => row).map((row) => (
        <div
          key={row}
          className="h-8 animate-[pulse-soft_1.4s_ease_1s_infinite] rounded-md bg-sunken"
        />
      ))}
    </div>
  );
}

interface LoadedProps<T> {
  /** The result of `useQuery`. */
  query: { data: T | undefined; error: unknown; isPending: boolean; refetch: () => unknown };
  rows?: number;
  /** Whether to wait for other content that would shift this one if it arrived later. */
  isWaiting?: boolean;
  children: (data: T) => ReactNode;
}

/** The answer of a query, or its loading and its error. Older data stays when a refresh fails. */
export function Loaded<T>({ query, rows = 3, isWaiting, children }: LoadedProps<T>) {
  if (query.data !== undefined && !isWaiting) return <>{children(query.data)}</>;
  if (query.data === undefined && query.error)
    return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  return <Skeleton rows={rows} />;
}
