import type { ListedExperiment } from "./queries";

export interface Variant {
  key: string;
  /** Percent, 0 to 100. */
  share: number;
}

/** Return the variants of an experiment with their shares: its own, or those of its flag. */
export function variantsOf(
  experiment: Pick<ListedExperiment, "parameters" | "feature_flag">,
): Variant[] {
  const own = readVariants(experiment.parameters?.feature_flag_variants);
  return own.length > 0 ? own : variantsOfFlag(experiment.feature_flag?.filters);
}

export function variantsOfFlag(filters: unknown): Variant[] {
  const { multivariate }: { multivariate?: unknown } = Object(filters);
  const { variants }: { variants?: unknown } = Object(multivariate);
  return readVariants(variants);
}

function readVariants(given: unknown): Variant[] {
  if (!Array.isArray(given)) return [];
  return given.flatMap((one: unknown) => {
    const { key, rollout_percentage: share }: { key?: unknown; rollout_percentage?: unknown } =
      Object(one);
    return typeof key === "string" ? [{ key, share: typeof share === "number" ? share : 0 }] : [];
  });
}
