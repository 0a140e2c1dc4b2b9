// The exports for other features.
import { lazyPart } from "@/ui/lazyPart";
import type { SaveAsSegmentProps } from "./SaveAsSegment";

export type { SaveAsSegmentProps };

/** Loaded when it is opened. */
export const SaveAsSegment = lazyPart<SaveAsSegmentProps>(
  "save as segment",
  async () => (await import("./SaveAsSegment")).SaveAsSegment,
);
