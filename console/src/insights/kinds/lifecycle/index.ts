import { INTERVALS } from "@/insights/question/address";
import { letterOf } from "@/insights/question/model";
import { words } from "@/words/insightsLifecycle";
import { CountedField } from "../CountedField";
import type { Kind } from "../kind";
import { behindLifecycle } from "./behind";
import { LifecycleResult } from "./LifecycleResult";
import { LifecycleView } from "./LifecycleView";
import { readOptions } from "./options";
import { lifecycleQuery, readLifecycleQuery } from "./query";
import { lifecycleSentence } from "./sentence";
import { lifecycleTable } from "./table";

export const kind: Kind = {
  name: "lifecycle",
  uses: () => ({
    series: {
      least: 1,
      most: 1,
      hasMath: false,
      title: words.series,
      one: words.series,
      mark: letterOf,
    },
    breakdowns: 0,
    intervals: INTERVALS,
    compares: false,
  }),
  check: ({ options }, reading) => void readOptions(options.lifecycle ?? {}, reading),
  query: lifecycleQuery,
  read: readLifecycleQuery,
  sentence: lifecycleSentence,
  missing: ({ series }) => (series.length === 0 ? words.noSeries : null),
  Fields: CountedField,
  View: LifecycleView,
  Result: LifecycleResult,
  table: lifecycleTable,
  behind: behindLifecycle,
};
