import { type FlagBody, isObject, isObjects } from "./model";

/** Keys of variants with their shares in percent; none for a flag that is true or false. */
export function variantsOf(flag: FlagBody): { name: string; value: number }[] {
  const { multivariate } = flag.filters;
  const variants = isObject(multivariate) ? multivariate.variants : undefined;
  if (!isObjects(variants)) return [];
  return variants.map(({ key, rollout_percentage: share }) => ({
    name: String(key),
    value: typeof share === "number" ? share : 0,
  }));
}
