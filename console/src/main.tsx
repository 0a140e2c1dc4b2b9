import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@/app/app.css";
import { queryClient } from "@/app/queries";
import { router } from "@/app/router";
import { ApiError } from "@/lib/errors";
import { styleNonce } from "@/lib/nonce";
import { startReachability } from "@/lib/reachability";
import { startShortcuts } from "@/lib/shortcuts";
import { startTheme } from "@/lib/theme";
import "@/ui/controls";
import { Toasts } from "@/ui/Toast";
import { TooltipProvider } from "@/ui/Tooltip";

const TOOLTIP_DELAY_MS = 400;
const root = document.getElementById("root");

setStyleNonce();
startReachability();
startTheme();
startShortcuts();
if (root !== null) {
  createRoot(root, { onCaughtError: reportCaught }).render(
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

/** Errors that a screen shows itself, such as a lost connection, are not bugs. */
function reportCaught(error: unknown): void {
  if (!(error instanceof ApiError)) console.error(error);
}

declare global {
  var __webpack_nonce__: string | undefined;
}

/** Radix puts a style into the page while a dialog is open, and takes its nonce from this name. */
function setStyleNonce(): void {
  globalThis.__webpack_nonce__ = styleNonce();
}
