import { useEffect } from "react";
import { useProjectId } from "@/app/session";
import { readStored, writeStored } from "@/lib/storage";

type Seen = Readonly<Record<string, string>>;

const SEEN_MAX = 200;
const nameOf = (projectId: string): string => `insights.seen.${projectId}`;
const isSeen = (found: unknown): found is Seen =>
  typeof found === "object" &&
  found !== null &&
  Object.values(found).every((at) => typeof at === "string");

/** When this browser last showed each insight, by id. */
export const readSeen = (projectId: string): Seen => readStored(nameOf(projectId), {}, isSeen);

/** Record that an insight was shown. */
export function useSeen(id: number | undefined): void {
  const projectId = useProjectId();
  useEffect(() => {
    if (id === undefined) return;
    const others = Object.entries(readSeen(projectId)).filter(([key]) => key !== String(id));
    const latest = others.toSorted(([, a], [, b]) => b.localeCompare(a)).slice(0, SEEN_MAX - 1);
    writeStored(nameOf(projectId), {
      ...Object.fromEntries(latest),
      [id]: new Date().toISOString(),
    });
  }, [id, projectId]);
}
