import { lazyPart } from "@/ui/lazyPart";

export const LazyReleaseDialog = lazyPart(
  "guarded release dialog",
  async () => (await import("./ReleaseDialog")).ReleaseDialog,
  1,
);
