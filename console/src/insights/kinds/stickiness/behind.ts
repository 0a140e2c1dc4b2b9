import { filtersOf } from "@/insights/question/wire";
import { present } from "@/lib/searchParams";
import { formatNumber } from "@/words/format";
import { words as actorWords } from "@/words/insights";
import { words } from "@/words/insightsStickiness";
import type { Asked, Behind, Place } from "../kind";
import { type Line, readLines } from "./lines";
import { optionsOf } from "./options";

/** Return the place of a number. place: 0 for one interval */
export const placeOf = (line: Line, place: number): Place =>
  present<Place>({
    entity_order: line.order,
    stickiness_days: place + 1,
    compare_label: line.isPrevious ? "previous" : undefined,
  });

export function behindStickiness({ question, answer }: Asked, place: Place): Behind | null {
  const at = Number(place.stickiness_days) - 1;
  const line = readLines(question, answer).find(
    ({ order, isPrevious }) =>
      order === Number(place.entity_order) && isPrevious === (place.compare_label === "previous"),
  );
  const count = line?.counts[at];
  if (line === undefined || count === undefined) return null;
  const { isCumulative } = optionsOf(question);
  const name = words.at(line.name, words.number(at + 1, question.interval, isCumulative));
  return {
    actors: {
      insight: "STICKINESS",
      filters: filtersOf(answer.query),
      place: line.places[at] ?? place,
    },
    description: actorWords.number(name, formatNumber(count)),
    name,
    ofGroups: question.groupTypeIndex !== undefined,
  };
}
