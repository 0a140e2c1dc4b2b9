import { type Flag, isObjects, readCondition } from "./model";
import { conditionParts, sentenceText } from "./sentence";

/** The conditions of a flag, in words, each with its percentage. */
export function conditionsOf(flag: Flag): { sentence: string; share: number }[] {
  const { groups, aggregation_group_type_index: index } = flag.filters;
  if (!isObjects(groups)) return [];
  return groups.map((group) => {
    const read = readCondition(group);
    if (read === null) return { sentence: "", share: 100 };
    const parts = conditionParts(read, typeof index === "number" ? index : null);
    return { sentence: sentenceText(parts), share: read.share };
  });
}
