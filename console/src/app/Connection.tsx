import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { onReturn, useLostSince } from "@/lib/reachability";
import { toast } from "@/ui/Toast";
import { useTimes } from "@/ui/times";
import { words } from "@/words/app";

/** A notice while the server does not answer. When it does again, everything shown is read again. */
export function Connection() {
  const times = useTimes();
  const since = useLostSince();
  useReadAgain();
  if (since === null) return null;
  const said = navigator.onLine ? words.lost : words.offline;
  return (
    <p
      role="alert"
      className="sticky top-12 z-30 bg-warn-soft px-4 py-2 text-center text-warn shadow-float"
    >
      {said(times.at(new Date(since), { seconds: true }))}
    </p>
  );
}

function useReadAgain(): void {
  const queries = useQueryClient();
  const router = useRouter();
  useEffect(
    () =>
      onReturn((wasLost) => {
        if (wasLost) toast({ text: words.connectedAgain });
        void queries.invalidateQueries();
        // Screens that could not be loaded are tried again.
        void router.invalidate();
      }),
    [queries, router],
  );
}
