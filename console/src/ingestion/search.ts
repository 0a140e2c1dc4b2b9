import { choiceOf, type Given, present, textOf } from "@/lib/searchParams";

export const SPANS = ["1h", "24h", "7d", "30d"] as const;
export type Span = (typeof SPANS)[number];

export interface IngestionSearch {
  /** The period of the ledger; an hour by default. */
  span?: Span;
  /** An event that is looked for: by its uuid, or by the distinct id that it was sent with. */
  find?: string;
  /** Id of the dead letter that is open. */
  letter?: number;
}

export const readIngestionSearch = (given: Given): IngestionSearch =>
  present<IngestionSearch>({
    span: choiceOf(SPANS, given.span),
    find: textOf(given.find),
    letter: typeof given.letter === "number" ? given.letter : undefined,
  });
