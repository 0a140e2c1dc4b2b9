import { type Given, present } from "@/lib/searchParams";
import type { QuestionSearch } from "./question/address";

export interface InsightSearch extends QuestionSearch {
  /** The number whose persons are shown. */
  behind?: Given;
}

/** Validation of the question is left to the page, which is loaded later. */
export const readInsightSearch = (given: Given): InsightSearch => ({
  ...(given as QuestionSearch),
  ...present<InsightSearch>({
    behind:
      typeof given.behind === "object" && given.behind !== null
        ? (given.behind as Given)
        : undefined,
  }),
});
