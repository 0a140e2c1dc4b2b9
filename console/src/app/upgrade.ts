import { isText, readStored, writeStored } from "@/lib/storage";

// A page that fails again at once fails for another reason.
const PAUSE_MS = 60_000;

/** A server that was upgraded has the parts of this page under other names: the page is loaded anew.
 * Screens keep the drafts of their users.
 */
export function reloadAfterUpgrade(): void {
  window.addEventListener("vite:preloadError", (event) => {
    const last = Number(readStored("reloaded", "0", isText));
    if (Date.now() - last < PAUSE_MS) return;
    event.preventDefault();
    writeStored("reloaded", String(Date.now()));
    location.reload();
  });
}
