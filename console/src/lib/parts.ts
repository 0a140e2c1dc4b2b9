import { ApiError } from "@/lib/errors";
import { prefix } from "@/lib/prefix";
import { noteAnswer, noteLost } from "@/lib/reachability";
import { isText, readStored, writeStored } from "@/lib/storage";
import { words } from "@/words/ui";

const UPGRADED = "upgraded";
// A page that fails again at once fails for another reason.
const PAUSE_MS = 60_000;

/** Load a part of the console that is not in the first load.
 *
 * throws: ApiError: the server does not answer, or has been upgraded, so that its parts have other
 * names; `reloadOnce` helps with the latter
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    const served = await servedBuild();
    if (served === "same") return load();
    if (served === "newer") throw new ApiError(0, UPGRADED, words.upgraded);
    noteLost();
    throw new ApiError(0, "unreachable", words.unreachable);
  }
}

export const isUpgraded = (error: unknown): boolean =>
  error instanceof ApiError && error.code === UPGRADED;

/** Reload the page, unless it was reloaded a moment ago. Screens keep the drafts of their users. */
export function reloadOnce(): void {
  const last = Number(readStored("reloaded", "0", isText));
  if (Date.now() - last < PAUSE_MS) return;
  writeStored("reloaded", String(Date.now()));
  location.reload();
}

async function servedBuild(): Promise<"same" | "newer" | "none"> {
  const own = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.src ?? "";
  try {
    const headers = { Accept: "text/html" };
    const response = await fetch(`${prefix}/`, { cache: "no-store", headers });
    const page = await response.text();
    // Something else may answer in place of the server, such as the page of a hotel's network.
    if (!response.ok || !page.includes("fanion-prefix")) return "none";
    noteAnswer();
    return page.includes(own.slice(own.lastIndexOf("/") + 1)) ? "same" : "newer";
  } catch {
    return "none";
  }
}
