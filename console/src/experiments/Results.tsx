import { lazyPart } from "@/ui/lazyPart";

// Loaded with its tab.
export const Results = lazyPart(
  "experiment results",
  async () => (await import("./results/ResultsTab")).ResultsTab,
  8,
);
