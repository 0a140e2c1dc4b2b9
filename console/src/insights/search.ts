import { type Given, present } from "@/lib/searchParams";
import type { QuestionSearch } from "./question/address";

export interface InsightSearch extends QuestionSearch {
  /** The place of the number whose persons are shown. */
  behind?: Given;
}

/** Only the page, which is loaded later, knows what of the question has a meaning. */
export const readInsightSearch = (given: Given): InsightSearch => ({
  ...(given as QuestionSearch),
  ...present<InsightSearch>({
    behind:
      typeof given.behind === "object" && given.behind !== null
        ? (given.behind as Given)
        : undefined,
  }),
});
