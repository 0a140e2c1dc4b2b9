import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@/app/app.css";
import { setStyleNonce } from "@/app/nonce";
import { queryClient } from "@/app/queries";
import { router } from "@/app/router";
import { reloadAfterUpgrade } from "@/app/upgrade";
import { startShortcuts } from "@/lib/shortcuts";
import { startTheme } from "@/lib/theme";
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
