type Entry = Readonly<Record<string, unknown>>;

/** The entries of a trend: one for each series and value. result: of an answer, which the schema
 * leaves open for all kinds of questions */
export function entriesOf(result: unknown): readonly Entry[] {
  return Array.isArray(result) ? result.filter(isEntry) : [];
}

const isEntry = (one: unknown): one is Entry => typeof one === "object" && one !== null;
