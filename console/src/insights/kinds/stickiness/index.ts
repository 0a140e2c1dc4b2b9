import { INTERVALS } from "@/insights/question/address";
import { letterOf } from "@/insights/question/model";
import { words } from "@/words/insightsStickiness";
import type { Kind } from "../kind";
import { behindStickiness } from "./behind";
import { readOptions } from "./options";
import { readStickinessQuery, SERIES_MAX, stickinessQuery } from "./query";
import { StickinessFields } from "./StickinessFields";
import { StickinessResult } from "./StickinessResult";
import { StickinessView } from "./StickinessView";
import { stickinessSentence } from "./sentence";
import { stickinessTable } from "./table";

export const kind: Kind = {
  name: "stickiness",
  uses: () => ({
    series: {
      least: 1,
      most: SERIES_MAX,
      hasMath: false,
      title: words.series,
      one: words.series,
      mark: letterOf,
    },
    breakdowns: 0,
    intervals: INTERVALS,
    compares: true,
  }),
  check: ({ options }, reading) => void readOptions(options.stickiness ?? {}, reading),
  query: stickinessQuery,
  read: readStickinessQuery,
  sentence: stickinessSentence,
  missing: ({ series }) => (series.length === 0 ? words.noSeries : null),
  Fields: StickinessFields,
  View: StickinessView,
  Result: StickinessResult,
  table: stickinessTable,
  behind: behindStickiness,
};
