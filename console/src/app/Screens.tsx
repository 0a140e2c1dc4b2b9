import type { ErrorComponentProps } from "@tanstack/react-router";
import { Link, useRouter } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { useEffect } from "react";
import { ApiError, describeError } from "@/lib/errors";
import { isUpgraded, reloadOnce } from "@/lib/parts";
import { onReturn } from "@/lib/reachability";
import { Button } from "@/ui/Button";
import { LINK, Page } from "@/ui/Page";
import { Empty, Failed, Skeleton } from "@/ui/States";
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

export function Crashed({ error }: ErrorComponentProps) {
  const router = useRouter();
  const retry = () => void router.invalidate();
  useEffect(() => onReturn(() => void router.invalidate()), [router]);
  useEffect(() => {
    if (isUpgraded(error)) reloadOnce();
  }, [error]);
  if (error instanceof ApiError) {
    return (
      <Page title={words.unloaded}>
        {isUpgraded(error) ? (
          <Failed error={error} retry={common.reload} onRetry={() => location.reload()} />
        ) : (
          <Failed error={error} onRetry={retry} />
        )}
      </Page>
    );
  }
  return (
    <Page title={words.crashed}>
      <p>{words.crashedHint}</p>
      <pre className="overflow-x-auto whitespace-pre-wrap rounded-md bg-sunken p-3">
        {describeError(error)}
      </pre>
      <div className="flex gap-2">
        <Button onClick={retry}>{common.retry}</Button>
        <Button onClick={() => location.reload()}>{common.reload}</Button>
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
