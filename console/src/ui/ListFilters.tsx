import { type Option, Select } from "@/ui/Select";

/** The value of a filter that is not set. */
export const ANY = "";

interface FilterSelectProps<T extends string> {
  label: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
}

/** A filter of a list, in the toolbar above it. */
export function FilterSelect<T extends string>({ label, ...select }: FilterSelectProps<T>) {
  return (
    <span className="w-40 max-sm:grow max-sm:basis-[40%]">
      <Select aria-label={label} {...select} />
    </span>
  );
}

/** Return the tags to filter a list by. chosen: offered even if no entry has it */
export function tagOptions(
  tags: readonly string[],
  chosen: string | undefined,
  anyLabel: string,
): Option<string>[] {
  const all = new Set([...tags, ...(chosen === undefined ? [] : [chosen])]);
  const sorted = [...all].toSorted((a, b) => a.localeCompare(b));
  return [{ value: ANY, label: anyLabel }, ...sorted.map((tag) => ({ value: tag, label: tag }))];
}
