import { INTERVALS } from "@/insights/question/address";
import { BREAKDOWNS_MAX, type Question } from "@/insights/question/model";
import { words } from "@/words/insightsFunnels";
import type { Asked, Kind, Uses } from "../kind";
import { behindFunnel } from "./behind";
import { FunnelsFields } from "./FunnelsFields";
import { FunnelsResult } from "./FunnelsResult";
import { FunnelsView } from "./FunnelsView";
import { canSkip, optionsOf, readOptions, STEPS_MAX } from "./options";
import { funnelsQuery, readFunnelsQuery } from "./query";
import { funnelsSentence } from "./sentence";
import { funnelsTable } from "./table";

const STEPS_LEAST = 2;

export const kind: Kind = {
  name: "funnels",
  uses: usesOf,
  check: ({ options }, reading) => void readOptions(options.funnels ?? {}, reading),
  query: funnelsQuery,
  read: readFunnelsQuery,
  sentence: funnelsSentence,
  missing: ({ series }) => (series.length < STEPS_LEAST ? words.tooFew : null),
  Fields: FunnelsFields,
  View: FunnelsView,
  Result: FunnelsResult,
  table: funnelsTable,
  note,
  behind: behindFunnel,
};

function usesOf(question: Question): Uses {
  const options = optionsOf(question);
  const { visualization } = options;
  return {
    series: {
      least: STEPS_LEAST,
      most: STEPS_MAX,
      hasMath: false,
      canSkip: (place) => canSkip(options, place),
      title: words.steps,
      one: words.oneStep,
      mark: (place) => String(place + 1),
    },
    breakdowns: BREAKDOWNS_MAX,
    hasRanges: false,
    intervals: visualization === "trends" ? INTERVALS : [],
    compares: true,
  };
}

/** In a period that ends now, some persons may still convert. */
function note({ question }: Asked): string | null {
  const { window, unit } = optionsOf(question);
  return question.dates.to === undefined ? words.mayConvert(window, unit) : null;
}
