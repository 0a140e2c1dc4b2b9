import { useSyncExternalStore } from "react";
import { prefix } from "@/lib/prefix";

// Whether the server answers. Each request of the API reports here what became of it.

const PAUSE_FIRST_MS = 1_000;
const PAUSE_MAX_MS = 15_000;
const BEAT_MS = 10_000;
/** A page whose timers stopped for this long was suspended. */
const ASLEEP_MS = 60_000;

/** When the server stopped answering; null while it answers. */
let lostSince: number | null = null;
let wait: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
const waiting: (() => void)[] = [];
const returns = new Set<Return>();

/** wasLost: the server did not answer; otherwise the computer was asleep */
type Return = (wasLost: boolean) => void;

/** Record that a request got no answer, and poll the server until it answers. */
export function noteLost(): void {
  if (lostSince !== null) return;
  set(Date.now());
  askAfter(PAUSE_FIRST_MS);
}

export function noteAnswer(): void {
  if (lostSince === null) return;
  clearTimeout(wait);
  set(null);
  for (const resolve of waiting.splice(0)) resolve();
  for (const listener of returns) listener(true);
}

/** Resolves once the server answers: at once unless the connection is lost. */
export const connected = (): Promise<void> =>
  lostSince === null ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));

/** Return when the server stopped answering, in milliseconds; null while it answers. */
export const useLostSince = (): number | null => useSyncExternalStore(subscribe, () => lostSince);

/** Call the listener when what is shown may be old: the server answers again, or the computer was
 * asleep. Returns a function that ends it.
 */
export function onReturn(listener: Return): () => void {
  returns.add(listener);
  return () => returns.delete(listener);
}

export function startReachability(): void {
  addEventListener("offline", noteLost);
  addEventListener("online", () => void ask(PAUSE_FIRST_MS));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void ask(PAUSE_FIRST_MS);
  });
  let last = Date.now();
  setInterval(() => {
    const slept = Date.now() - last;
    last = Date.now();
    if (slept > ASLEEP_MS && !document.hidden) for (const listener of returns) listener(false);
  }, BEAT_MS);
}

function set(since: number | null): void {
  lostSince = since;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function askAfter(pauseMs: number): void {
  clearTimeout(wait);
  wait = setTimeout(() => void ask(pauseMs), pauseMs);
}

async function ask(pauseMs: number): Promise<void> {
  if (lostSince === null) return;
  try {
    const response = await fetch(`${prefix}/_preflight/`, { cache: "no-store" });
    await response.text();
    if (response.ok) return noteAnswer();
  } catch {
    // Still no answer.
  }
  askAfter(Math.min(pauseMs * 2, PAUSE_MAX_MS));
}
