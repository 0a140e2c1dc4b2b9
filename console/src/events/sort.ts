import type { Sort } from "@/ui/table";

/** Read the sort of the URL, such as "-volume". */
export function sortOf(text: string): Sort {
  const descending = text.startsWith("-");
  return { column: descending ? text.slice(1) : text, descending };
}

export function sortText(sort: Sort | null): string | undefined {
  return sort === null ? undefined : `${sort.descending ? "-" : ""}${sort.column}`;
}
