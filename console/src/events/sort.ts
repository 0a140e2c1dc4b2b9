import type { Sort } from "@/ui/table";

/** As the address has it: "-volume". */
export function sortOf(text: string): Sort {
  const descending = text.startsWith("-");
  return { column: descending ? text.slice(1) : text, descending };
}

export function sortText(sort: Sort | null): string | undefined {
  return sort === null ? undefined : `${sort.descending ? "-" : ""}${sort.column}`;
}
