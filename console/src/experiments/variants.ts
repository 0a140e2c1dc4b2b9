import type { ListedExperiment } from "./queries";

export interface Variant {
  key: string;
  /** Percent, 0 to 100. */
  share: number;
}

/** Return the variants of an experiment with their shares. */
export function variantsOf({ parameters }: Pick<ListedExperiment, "parameters">): Variant[] {
  return readVariants(parameters?.feature_flag_variants);
}

export function readVariants(given: unknown): Variant[] {
  if (!Array.isArray(given)) return [];
  return given.flatMap((one: unknown) => {
    const { key, rollout_percentage: share }: { key?: unknown; rollout_percentage?: unknown } =
      Object(one);
    return typeof key === "string" ? [{ key, share: typeof share === "number" ? share : 0 }] : [];
  });
}
