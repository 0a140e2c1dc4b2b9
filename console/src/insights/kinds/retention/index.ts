import { BREAKDOWNS_MAX, type Question } from "@/insights/question/model";
import { words } from "@/words/insightsRetention";
import type { Kind, Uses } from "../kind";
import { behindRetention } from "./behind";
import { readOptions } from "./options";
import { PERIODS, readRetentionQuery, retentionQuery } from "./query";
import { RetentionFields } from "./RetentionFields";
import { RetentionResult } from "./RetentionResult";
import { RetentionView } from "./RetentionView";
import { retentionSentence } from "./sentence";
import { retentionTable } from "./table";

export const kind: Kind = {
  name: "retention",
  uses: usesOf,
  check: ({ options }, reading) => void readOptions(options.retention ?? {}, reading),
  query: retentionQuery,
  read: readRetentionQuery,
  sentence: retentionSentence,
  missing: ({ series }) => (series.length === 0 ? words.noSeries : null),
  Fields: RetentionFields,
  View: RetentionView,
  Result: RetentionResult,
  table: retentionTable,
  behind: behindRetention,
};

function usesOf({ series }: Question): Uses {
  return {
    series: {
      least: 1,
      most: 2,
      hasMath: false,
      title: words.series,
      one: series.length === 0 ? words.event : words.returningEvent,
      mark: (place) => String(place + 1),
    },
    breakdowns: BREAKDOWNS_MAX,
    hasRanges: false,
    intervals: PERIODS,
    compares: false,
  };
}
