import { useRouter } from "@tanstack/react-router";
import { useCallback, useState } from "react";

// By entry of the browser's history: the row that a user was on.
const rows = new Map<string, string>();

/** The row of a table that a user was on before leaving the screen, when "back" leads there again.
 *
 * label: of the table
 */
export function useUsedRow(label: string) {
  const router = useRouter();
  const place = useCallback(
    () => `${router.history.location.state.__TSR_key} ${label}`,
    [router, label],
  );
  const [former, setFormer] = useState(() => rows.get(place()));
  const note = useCallback((id: string) => void rows.set(place(), id), [place]);
  return { former, forget: () => setFormer(undefined), note };
}
