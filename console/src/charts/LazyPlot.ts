import { lazyPart } from "@/ui/lazyPart";

/** The canvas of lines, which is loaded with the first chart. */
export const LazyPlot = lazyPart("plot", async () => (await import("./Plot")).default);
