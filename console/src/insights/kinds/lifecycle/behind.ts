import { intervalName } from "@/charts";
import { nameOfSeries } from "@/insights/question/seriesName";
import { filtersOf } from "@/insights/question/wire";
import { formatNumber } from "@/words/format";
import { words as actorWords } from "@/words/insights";
import { words } from "@/words/insightsLifecycle";
import type { Asked, Behind, Place } from "../kind";
import { readLifecycle } from "./layers";
import { optionsOf } from "./options";

export function behindLifecycle({ question, answer }: Asked, place: Place): Behind | null {
  const { interval, series } = question;
  const { begins, layers } = readLifecycle(answer, interval, optionsOf(question));
  const layer = layers.find(({ status }) => status === place.lifecycle_type);
  const at = layer?.places.findIndex(({ target_date: date }) => date === place.target_date) ?? -1;
  const [begin, count, [first]] = [begins[at], layer?.counts[at], series];
  if (layer === undefined || begin === undefined || count === undefined || !first) return null;
  const when = intervalName(begin, interval, answer.zone);
  const name = words.at(nameOfSeries(first), words.statuses[layer.status], when);
  return {
    actors: { insight: "LIFECYCLE", filters: filtersOf(answer.query), place },
    description: actorWords.number(name, formatNumber(Math.abs(count))),
    name,
    ofGroups: question.groupTypeIndex !== undefined,
  };
}
