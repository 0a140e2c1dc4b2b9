// The API pages its lists by addresses of a next page; what leads there is in their query.

/** "…?limit=100&after=x" as {limit: "100", after: "x"}. */
export function queryOf(address: string): Record<string, string> {
  return Object.fromEntries(new URL(address, location.origin).searchParams);
}

interface Page<T> {
  results: readonly T[];
  next: string | null;
}

/** Every row of a list, page by page: for files of all that a table has. */
export async function* everyRow<T>(
  read: (next: string | null) => Promise<Page<T>>,
): AsyncGenerator<T> {
  let next: string | null = null;
  do {
    const page: Page<T> = await read(next);
    yield* page.results;
    next = page.next;
  } while (next !== null);
}
