import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError } from "@/lib/errors";
import { words } from "@/words/app";

/** A notice while the server does not respond. Drafts stay in their screens. */
export function Connection() {
  const isLost = useLostConnection();
  if (!isLost) return null;
  return (
    <p role="alert" className="bg-warn-soft px-4 py-2 text-center text-warn">
      {words.unreachable}
    </p>
  );
}

/** Return whether the last request got no response. */
function useLostConnection(): boolean {
  const queries = useQueryClient();
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    const note = (state: { status: string; error: unknown }) => {
      if (state.status === "success") setLost(false);
      else if (state.error instanceof ApiError) setLost(state.error.isUnreachable);
    };
    const ends = [
      queries.getQueryCache().subscribe((event) => {
        if (event.type === "updated") note(event.query.state);
      }),
      queries.getMutationCache().subscribe((event) => {
        if (event.type === "updated") note(event.mutation.state);
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [queries]);
  return isLost;
}
