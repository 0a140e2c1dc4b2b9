import type { ErrorComponentProps } from "@tanstack/react-router";
import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { describeError } from "@/lib/errors";
import { Button } from "@/ui/Button";
import { LINK, Page } from "@/ui/Page";
import { Empty, Skeleton } from "@/ui/States";
import { words } from "@/words/app";
import { words as common } from "@/words/ui";

// Screens in place of others.

export function NotFound() {
  return (
    <Page title={words.notFound} heading={<span className="sr-only">{words.notFound}</span>}>
      <Empty icon={Compass} title={words.notFound}>
        <p>{words.notFoundHint}</p>
        <Link to="/" className={LINK}>
          {words.toHome}
        </Link>
      </Empty>
    </Page>
  );
}

export function Crashed({ error, reset }: ErrorComponentProps) {
  return (
    <Page title={words.crashed}>
      <p>{words.crashedHint}</p>
      <pre className="overflow-x-auto whitespace-pre-wrap rounded-md bg-sunken p-3">
        {describeError(error)}
      </pre>
      <div>
        <Button onClick={reset}>{common.retry}</Button>
      </div>
    </Page>
  );
}

/** The placeholder while a screen or its data is being loaded. */
export function Opening() {
  return (
    <div className="mx-auto w-full max-w-7xl px-6 py-6">
      <Skeleton rows={4} />
    </div>
  );
}
