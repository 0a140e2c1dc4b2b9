import type { components } from "@/lib/schema";
import { SafeText } from "@/ui/properties";
import { words } from "@/words/events";
import { formatNumber } from "@/words/format";

interface TopValuesProps {
  label: string;
  values: readonly components["schemas"]["PropertyValue"][];
  /** What the numbers count, in words. */
  hint: string;
}

/** Values with their counts, and a bar for those who compare. */
export function TopValues({ label, values, hint }: TopValuesProps) {
  if (values.length === 0) return <p className="text-ink-2">{words.properties.noValues}</p>;
  const most = Math.max(...values.map(({ count }) => count));
  return (
    <>
      <p className="mb-1 text-ink-2 text-sm">{hint}</p>
      <ul aria-label={label} className="flex flex-col gap-1">
        {values.map(({ name, count }) => (
          <li key={`${typeof name} ${name}`} className="grid grid-cols-[1fr_auto] gap-x-3">
            <span className="min-w-0">
              <SafeText text={String(name)} length={120} />
            </span>
            <span className="tabular-nums">{formatNumber(count)}</span>
            <span aria-hidden className="col-span-2 h-1 rounded bg-sunken">
              <span
                className="block h-1 rounded bg-series-2"
                style={{ width: `${(100 * count) / most}%` }}
              />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
