import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@/app/app.css";
import { queryClient } from "@/app/queries";
import { router } from "@/app/router";
import { startShortcuts } from "@/lib/shortcuts";
import { isText, readStored, writeStored } from "@/lib/storage";
import { startTheme } from "@/lib/theme";
import "@/ui/controls";
import { Toasts } from "@/ui/Toast";
import { TooltipProvider } from "@/ui/Tooltip";

const TOOLTIP_DELAY_MS = 400;
const root = document.getElementById("root");

setStyleNonce();
reloadAfterUpgrade();
startTheme();
startShortcuts();
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <TooltipProvider delayDuration={TOOLTIP_DELAY_MS}>
          <RouterProvider router={router} />
          <Toasts />
        </TooltipProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}

// A page that fails again at once fails for another reason.
const PAUSE_MS = 60_000;

/** Reload the page when the server was upgraded, since its parts then have other names. Screens keep
 * the drafts of their users.
 */
function reloadAfterUpgrade(): void {
  window.addEventListener("vite:preloadError", (event) => {
    const last = Number(readStored("reloaded", "0", isText));
    if (Date.now() - last < PAUSE_MS) return;
    event.preventDefault();
    writeStored("reloaded", String(Date.now()));
    location.reload();
  });
}

declare global {
  var __webpack_nonce__: string | undefined;
}

/** Radix puts a style into the page while a dialog is open, and takes its nonce from this name. */
function setStyleNonce(): void {
  const meta = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');
  globalThis.__webpack_nonce__ = meta?.nonce;
}
