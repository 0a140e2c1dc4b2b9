import { choiceOf, type Given, present } from "@/lib/searchParams";
import { SDKS, type Sdk } from "@/lib/snippets";

export interface HomeSearch {
  /** Shows how to send events, also where some have come. */
  connect?: true;
  /** Whose lines are shown. */
  sdk?: Sdk;
}

export const readHomeSearch = (given: Given): HomeSearch =>
  present<HomeSearch>({
    connect: given.connect === true ? true : undefined,
    sdk: choiceOf(SDKS, given.sdk),
  });
